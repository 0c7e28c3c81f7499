"""CB-20: the documented number of calls is the effective one."""

from __future__ import annotations

from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


async def test_the_breaker_opens_once_the_minimum_has_completed(
    form: Any, script: Any, settle: Any
) -> None:
    """failure_ratio 100 % with minimum_calls 4: the fourth failure opens it."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(failure_ratio=1.0, minimum_calls=4)
    )
    call = form.guard(policy, script(TimeoutError()))
    states = []
    for _ in range(4):
        await settle(call())
        states.append(policy.circuit_breaker.state)
    assert states == ["closed", "closed", "closed", "open"]
