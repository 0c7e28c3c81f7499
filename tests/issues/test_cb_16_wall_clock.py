"""CB-16: jumps of the wall clock change nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, remaining_budget
from policyctl.runtime.policy import Policy

DAY = 86400.0


@pytest.mark.parametrize("jump", [-DAY, DAY])
async def test_a_break_ends_by_monotonic_time(
    form: Any,
    script: Any,
    settle: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    jump: float,
) -> None:
    """The wall clock is set a day back or forward while the circuit is open."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
        )
    )
    call = form.guard(policy, script(TimeoutError()))
    with budget(60.0):
        await settle(call())
        wall = time.time
        monkeypatch.setattr(time, "time", lambda: wall() + jump)
        assert policy.circuit_breaker.state == "open"
        assert policy.circuit_breaker.retry_after == 30.0
        clock.advance(30.0)
        assert policy.circuit_breaker.state == "half_open"
        assert remaining_budget() == 30.0
