"""Policies as they are when a process starts, so that tests do not meet."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry


def reset_policies(pattern: str = "*") -> None:
    """Forget what the named policies of the process have learnt.

    Circuit breakers are closed and obey nobody's hand any more, retry budgets, hedge
    budgets and rate limits are full, idempotency keys forgotten. Calls in flight go on, limits that were
    changed stay. Stores in files or on servers are emptied of the operation's keys too.

    Args:
        pattern: shell pattern over ``service.operation``.

    Raises:
        PolicyConfigError: a name without wildcards is unknown.
    """
    for policy in registry.policies(pattern).values():
        _reset(policy)


def _reset(policy: Policy) -> None:
    if policy.settings.get("circuit_breaker") is not None:
        policy.circuit_breaker.reset()
    if policy.retry_budget is not None:
        policy.retry_budget.refill()
    if policy.hedges is not None:
        policy.hedges.tokens.refill()
    if policy.bucket is not None:
        policy.bucket.refill()
    if policy.guard is not None:
        policy.guard.clear()


@contextmanager
def fresh_policies(pattern: str = "*") -> Generator[None, None, None]:
    """Reset policies on the way in and out; those that are defined inside as well."""
    reset_policies(pattern)
    try:
        yield
    finally:
        reset_policies(pattern)
