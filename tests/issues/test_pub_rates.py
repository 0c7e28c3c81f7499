"""Rate limits: governor #249, tower-resilience PR 394, Eventra #6488.

One token too many after a pause, more than the limit under contention, tokens that those
who gave up waiting took along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from threading import Barrier, Thread
from typing import Any

import pytest

from policyctl.runtime.errors import RateLimitedError
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATIONS = """
burst:
  rate_limit: {rate: 10/s, burst: 5}
shared:
  rate_limit: {rate: 1/h, burst: 5}
patient:
  rate_limit: {rate: 10/s, burst: 1, max_wait: 60s}
"""


def admitted(policy: Policy, calls: int) -> int:
    """How many of so many calls at once are let through."""
    hints: list[float] = []
    for _ in range(calls):
        try:
            policy.call(lambda: None)
        except RateLimitedError as refusal:
            hints.append(refusal.retry_after)
    assert all(0 < hint <= 0.1 for hint in hints)
    return calls - len(hints)


def test_a_pause_earns_the_burst_and_no_more(generated: Generated, clock: Any) -> None:
    """However long it was; then one for each tenth of a second."""
    policy = generated(OPERATIONS)["burst"]
    clock.advance(3600.0)
    found = [admitted(policy, 20)]
    for pause in (2.0, 86400.0, 0.1, 0.25, 0.05):
        clock.advance(pause)
        found.append(admitted(policy, 20))
    assert found == [5, 5, 5, 1, 2, 1]


def test_threads_at_once_get_the_burst_together(generated: Generated) -> None:
    """Eight of them with a hundred calls each: five calls."""
    policy = generated(OPERATIONS)["shared"]
    barrier = Barrier(8)
    entries: list[int] = []

    def hammer() -> None:
        barrier.wait(30.0)
        for _ in range(100):
            try:
                policy.call(entries.append, 1)
            except RateLimitedError:
                continue

    threads = [Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 5


async def test_who_gives_up_waiting_gives_the_token_back(
    generated: Generated,
) -> None:
    """A hundred cancelled waiters cost the next caller no ten seconds."""

    @generated(OPERATIONS)["patient"]
    async def call() -> None:
        return None

    await call()
    waiting = [asyncio.create_task(call()) for _ in range(100)]
    for _ in range(3):
        await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    await asyncio.wait_for(call(), 5.0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(call() for _ in range(50))), 0.2)
