"""CB-18: a lock of threads in asyncio code, and a state store that blocks the loop.

https://github.com/arlyon/aiobreaker/issues/3
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.shared import link as links

THRESHOLD = 1_000_000


async def test_interleaved_tasks_count_exactly() -> None:
    """A hundred tasks on one thread, each giving way in the middle of its call."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(failure_threshold=THRESHOLD)
    )

    @policy
    async def call(number: int) -> int:
        for _ in range(number % 4):
            await asyncio.sleep(0)
        if number % 2:
            raise TimeoutError
        return number

    for _ in range(10):
        await asyncio.gather(
            *(call(2 * n + 1) for n in range(100)), return_exceptions=True
        )
    assert policy.circuit_breaker.failures == 1000
    assert await asyncio.gather(*(call(2 * n) for n in range(100))) == list(
        range(0, 200, 2)
    )
    assert policy.circuit_breaker.failures == 0


async def steps_during(call: Any) -> int:
    """How many steps another task of the loop makes while ``call`` is under way."""
    steps = 0
    running = asyncio.create_task(call)
    while not running.done():
        steps += 1
        await asyncio.sleep(0.001)
    await running
    return steps


@pytest.mark.parametrize("pattern", ["circuit_breaker", "rate_limit"])
async def test_a_store_that_hangs_does_not_stop_the_loop(
    own_valkey: Any, impatience: float, pattern: str
) -> None:
    """While an answer of the store is awaited, other tasks go on."""
    assert impatience < 2.0
    blocks: dict[str, Any] = {
        "circuit_breaker": settings.CircuitBreaker(store="redis"),
        "rate_limit": settings.RateLimit(rate=1000.0, store="redis"),
    }
    policy = Policy(service="cb18", operation="call", **{pattern: blocks[pattern]})

    async def work() -> None:
        if pattern == "circuit_breaker":
            raise TimeoutError

    async def call() -> None:
        await asyncio.gather(policy.call(work), return_exceptions=True)

    await call()  # the client library is imported, the connection is there
    own_valkey.freeze(True)
    try:
        steps = await steps_during(call())
    finally:
        own_valkey.freeze(False)
        links.close_links()
    # A rate limit waits for the answer, half a second or more; a closed breaker does not.
    assert steps >= (50 if pattern == "rate_limit" else 1)
