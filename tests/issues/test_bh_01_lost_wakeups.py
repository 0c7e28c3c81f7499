"""BH-01, BH-02: a waiter that is cancelled just after it was woken."""

from __future__ import annotations

import asyncio
import random

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


def make(slots: int) -> Policy:
    """A bulkhead with many places to wait."""
    return Policy(
        bulkhead=settings.Bulkhead(max_concurrent=slots, max_queue=100, max_wait=60.0)
    )


async def test_the_wake_up_is_passed_on() -> None:
    """The holder releases and waiter 1 is cancelled in one step: waiter 2 runs."""
    policy = make(1)
    gate = asyncio.Event()

    @policy
    async def call(wait: bool) -> str:
        if wait:
            await gate.wait()
        return "ok"

    for _ in range(100):
        gate.clear()
        holder = asyncio.create_task(call(True))
        await asyncio.sleep(0)
        first, second = (asyncio.create_task(call(False)) for _ in range(2))
        await asyncio.sleep(0)
        gate.set()
        while not holder.done():
            await asyncio.sleep(0)
        first.cancel()
        assert await asyncio.wait_for(second, 60) == "ok"
        await asyncio.gather(first, return_exceptions=True)
        assert policy.bulkhead.in_use == 0
        assert policy.bulkhead.waiting == 0


@pytest.mark.parametrize("slots", [1, 2, 3])
async def test_any_interleaving_ends_with_all_slots_free(slots: int) -> None:
    """Seeded rounds of calls, cancels at any await, and releases."""
    policy = make(slots)
    rng = random.Random(slots)
    inside = most = 0

    @policy
    async def call(steps: int) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            inside -= 1

    running: list[asyncio.Task[None]] = []
    for _ in range(3000):
        action = rng.random()
        if action < 0.4:
            running.append(asyncio.create_task(call(rng.randrange(4))))
        elif action < 0.7 and running:
            running.pop(rng.randrange(len(running))).cancel()
        else:
            await asyncio.sleep(0)
    await asyncio.gather(*running, return_exceptions=True)
    for _ in range(10):
        await asyncio.sleep(0)
    assert most == slots
    assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)
    await asyncio.gather(*(call(1) for _ in range(slots)))


async def test_cancelling_at_each_await_keeps_the_capacity() -> None:
    """Acquire, cancel after any number of steps, release: two slots are free again."""
    policy = make(2)
    gate = asyncio.Event()

    @policy
    async def call() -> None:
        await gate.wait()

    for steps in range(8):
        gate.clear()
        tasks = [asyncio.create_task(call()) for _ in range(4)]
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in tasks[1:3]:
            task.cancel()
        gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert policy.bulkhead.in_use == 0
