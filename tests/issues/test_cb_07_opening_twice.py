"""CB-07: more failures than the threshold finish together."""

from __future__ import annotations

import asyncio
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


async def test_failures_past_the_opening_do_not_lose_the_recovery(clock: Any) -> None:
    """Six failures end in one step of the loop; the break still ends on time."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=3,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
            success_threshold=1,
        )
    )
    gate = asyncio.Event()

    @policy
    async def call(fail: bool) -> str:
        if fail:
            await gate.wait()
            raise TimeoutError
        return "ok"

    tasks = [asyncio.create_task(call(True)) for _ in range(6)]
    await asyncio.sleep(0)
    gate.set()
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in errors] == [TimeoutError] * 6
    assert policy.circuit_breaker.state == "open"
    assert policy.circuit_breaker.retry_after == 30.0
    clock.advance(29.9)
    assert policy.circuit_breaker.state == "open"
    clock.advance(0.1)
    assert policy.circuit_breaker.state == "half_open"
    assert await call(False) == "ok"
    assert policy.circuit_breaker.state == "closed"


async def test_late_failures_do_not_push_the_recovery_out(clock: Any) -> None:
    """A failure admitted before the opening and ended during the break moves nothing."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
        )
    )
    gate = asyncio.Event()

    @policy
    async def call(wait: bool) -> None:
        if wait:
            await gate.wait()
        raise TimeoutError

    late = asyncio.create_task(call(True))
    await asyncio.sleep(0)
    await asyncio.gather(call(False), return_exceptions=True)
    clock.advance(20.0)
    gate.set()
    await asyncio.gather(late, return_exceptions=True)
    assert policy.circuit_breaker.retry_after == 10.0
