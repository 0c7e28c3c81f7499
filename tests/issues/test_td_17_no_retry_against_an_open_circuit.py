"""TD-17: a rejection by the breaker is not one more failed attempt."""

from __future__ import annotations

from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import (
    BulkheadFullError,
    CircuitOpenError,
    RateLimitedError,
)
from policyctl.runtime.policy import Policy


def make(threshold: int) -> Policy:
    """Three attempts over a breaker."""
    return Policy(
        retry=settings.Retry(max_attempts=3, retry_on=("Exception",)),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=threshold,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
        ),
    )


async def test_an_open_circuit_is_not_retried(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """One CircuitOpenError, no sleep, no entry."""
    policy = make(1)
    function = script("ok")
    policy.circuit_breaker.force_open()
    error = await settle(form.guard(policy, function)())
    assert isinstance(error, CircuitOpenError)
    assert (function.entries, clock.slept) == (0, [])


async def test_a_circuit_that_opens_meanwhile_ends_the_call(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """It opens on the second attempt: the last real error comes out, with a note."""
    policy = make(2)
    late = TimeoutError("late")
    function = script(late)
    assert await settle(form.guard(policy, function)()) is late
    assert function.entries == 2
    assert policy.circuit_breaker.state == "open"
    assert "circuit open" in " ".join(late.__notes__)


async def test_a_nested_open_circuit_is_a_failure_and_not_retried(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """Retry storms do not climb up: the inner rejection is final here."""
    error = CircuitOpenError("inner", "call", 30.0)
    policy = make(50)
    function = script(error)
    assert await settle(form.guard(policy, function)()) is error
    assert function.entries == 1
    assert policy.circuit_breaker.failures == 1


async def test_a_used_up_rate_limit_is_not_retried(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """One RateLimitedError, no sleep, no entry, though every exception is retried."""
    policy = Policy(
        retry=settings.Retry(retry_on=("Exception",)),
        rate_limit=settings.RateLimit(rate=0.001, burst=1),
    )
    function = script("ok")
    call = form.guard(policy, function)
    assert await call() == "ok"
    assert isinstance(await settle(call()), RateLimitedError)
    assert function.entries == 1
    assert clock.slept == []


def test_a_full_bulkhead_is_not_retried(clock: Any) -> None:
    """The same for a call within the only slot."""
    policy = Policy(
        retry=settings.Retry(retry_on=("Exception",)),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )
    entries: list[int] = []

    @policy
    def nested() -> None:
        entries.append(1)
        with pytest.raises(BulkheadFullError):
            nested()

    nested()
    assert entries == [1]
    assert clock.slept == []
