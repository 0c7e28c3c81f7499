"""TD-01: a cancel in the very step in which the inner future finishes."""

from __future__ import annotations

import asyncio

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


@pytest.mark.parametrize("order", ["finish first", "cancel first"])
async def test_the_task_always_ends_cancelled(order: str) -> None:
    """In a thousand runs no cancel is swallowed, no slot and no permit leaks."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=5.0),
        retry=settings.Retry(retry_on=("timeout",)),
        circuit_breaker=settings.CircuitBreaker(),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )

    @policy
    async def call(inner: asyncio.Future[str]) -> str:
        return await inner

    async def outer(inner: asyncio.Future[str]) -> None:
        await call(inner)
        await asyncio.sleep(0)

    loop = asyncio.get_running_loop()
    for _ in range(1000):
        inner = loop.create_future()
        task = asyncio.create_task(outer(inner))
        await asyncio.sleep(0)
        if order == "finish first":
            inner.set_result("ok")
            task.cancel()
        else:
            task.cancel()
            if not inner.cancelled():
                inner.set_result("ok")
        with pytest.raises(asyncio.CancelledError):
            await task
    assert policy.bulkhead.in_use == 0
    assert policy.circuit_breaker.failures == 0
    assert policy.circuit_breaker.state == "closed"
