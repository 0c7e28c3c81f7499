"""BH-11: policies made at import work on any number of event loops."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

policy = Policy(
    attempt_timeout=settings.AttemptTimeout(total=10.0),
    circuit_breaker=settings.CircuitBreaker(failure_threshold=10_000),
    bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=500, max_wait=30.0),
)


@policy
async def call(fail: bool = False) -> int:
    """Contends for the two slots."""
    await asyncio.sleep(0.0005)
    if fail:
        raise TimeoutError
    return 1


async def contend() -> int:
    """Twenty calls at once."""
    return sum(await asyncio.gather(*(call() for _ in range(20))))


def test_loops_in_turn_and_at_once() -> None:
    """asyncio.run twice, then three threads with loops of their own."""
    assert [asyncio.run(contend()) for _ in range(2)] == [20, 20]
    sums: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: sums.append(asyncio.run(contend())), daemon=True
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [20, 20, 20]
    assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)


def test_breaker_state_is_shared_between_loops() -> None:
    """Failures on two loops add up."""
    policy.circuit_breaker.reset()

    async def fail() -> None:
        await asyncio.gather(*(call(True) for _ in range(5)), return_exceptions=True)

    asyncio.run(fail())
    asyncio.run(fail())
    assert policy.circuit_breaker.failures == 10


def test_a_closed_loop_is_let_go() -> None:
    """After the next loop has been used nothing keeps the first one alive."""
    seen: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def main() -> None:
        seen.append(weakref.ref(asyncio.get_running_loop()))
        await contend()

    for _ in range(2):
        asyncio.run(main())
    gc.collect()
    assert seen[0]() is None
