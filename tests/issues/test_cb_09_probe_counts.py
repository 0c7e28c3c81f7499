"""CB-09: successes of an earlier half-open round must not count."""

from __future__ import annotations

from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


async def test_each_half_open_round_counts_from_zero(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """Two good probes, one bad, then one good: three are still to come minus one."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
            success_threshold=3,
        )
    )
    late = TimeoutError()
    call = form.guard(policy, script(late, 1, 2, late, 3, 4, 5))
    states = []
    for wait in (0, 30, 0, 0, 30, 0, 0):
        clock.advance(wait)
        await settle(call())
        states.append(policy.circuit_breaker.state)
    assert states == [
        "open",
        "half_open",
        "half_open",
        "open",
        "half_open",
        "half_open",
        "closed",
    ]
