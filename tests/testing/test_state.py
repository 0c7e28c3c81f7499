"""Policies are put back between tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.testing import fresh_policies, reset_policies


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    """Policies of a test do not stay in the process's registry."""
    before = set(registry)
    yield
    for name in set(registry) - before:
        registry.forget(name)


def make(operation: str = "charge", **blocks: object) -> Policy:
    """A policy of the service state_api."""
    return Policy(service="state_api", operation=operation, **blocks)  # type: ignore[arg-type]


def test_a_breaker_is_closed_again() -> None:
    """Opened by failures or by hand, for an operation or for each argument."""
    one = make("one", circuit_breaker=settings.CircuitBreaker(failure_threshold=1))
    keyed = make(
        "keyed",
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1, scope="argument:tenant"
        ),
    )

    def fail(tenant: str) -> None:
        raise TimeoutError

    for policy in (one, keyed):
        with pytest.raises(TimeoutError):
            policy(fail)("a")
    one.circuit_breaker.force_open()
    reset_policies("state_api.*")
    for policy in (one, keyed):
        with pytest.raises(TimeoutError):
            policy(fail)("a")


def test_budgets_limits_and_keys_start_anew() -> None:
    """Tokens for retries and attempts are back, keys can be used again."""
    entries: list[str] = []
    policy = make(
        retry=settings.Retry(
            max_attempts=2,
            retry_on=("timeout",),
            backoff=settings.Backoff(initial=0.0, max=0.0),
            budget=settings.RetryBudget(ratio=0.0, floor=0.0, burst=1),
        ),
        rate_limit=settings.RateLimit(rate=0.001, burst=3),
        idempotency=settings.Idempotency(key=("key",)),
    )

    @policy
    def charge(key: str) -> int:
        entries.append(key)
        if len(entries) == 1:
            raise TimeoutError
        return len(entries)

    def state() -> tuple[int, int]:
        assert policy.retry_budget is not None
        assert policy.bucket is not None
        return round(policy.retry_budget.tokens), round(policy.bucket.tokens)

    assert state() == (1, 3)
    assert (charge("k"), charge("k")) == (2, 2)
    assert state() == (0, 1)
    reset_policies("state_api.charge")
    assert state() == (1, 3)
    assert charge("k") == 3


def test_hedges_may_be_made_again() -> None:
    """Their tokens are back."""
    policy = make(idempotent=True, hedge=settings.Hedge(delay=0.1, budget=0.0))
    assert policy.hedges is not None
    tokens = policy.hedges.tokens
    while tokens.take():
        pass
    reset_policies("state_api.charge")
    assert tokens.take()


def test_a_scope_resets_on_both_ends_also_after_an_error() -> None:
    """What was before does not reach in, what was inside does not reach out."""
    view = make(circuit_breaker=settings.CircuitBreaker()).circuit_breaker
    view.force_open()
    with contextlib.suppress(KeyError), fresh_policies("state_api.*"):
        assert view.state == "closed"
        view.force_open()
        raise KeyError
    assert view.state == "closed"


def test_other_policies_are_left_alone() -> None:
    """Only what the pattern names is reset; an unknown name is an error."""
    view = make(circuit_breaker=settings.CircuitBreaker()).circuit_breaker
    view.force_open()
    reset_policies("other_api.*")
    assert view.state == "forced_open"
    with pytest.raises(PolicyConfigError, match="no policy called"):
        reset_policies("state_api.nothing")
