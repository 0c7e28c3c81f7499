"""BH-02: a slot that is granted to a waiter which is being cancelled in that moment.

https://github.com/agronholm/anyio/issues/947
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import BulkheadFullError
from policyctl.runtime.policy import Policy


def make() -> Policy:
    """Two slots, and places for everybody."""
    return Policy(
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=50, max_wait=60.0)
    )


@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("first", ["release", "cancel"])
async def test_a_grant_and_a_cancel_are_a_release(steps: int, first: str) -> None:
    """The holder ends and the waiter is cancelled, any number of loop steps apart."""
    policy = make()
    for _ in range(20):
        gates = [asyncio.Event() for _ in range(2)]
        holders = [asyncio.create_task(policy.call(gate.wait)) for gate in gates]
        await asyncio.sleep(0)
        waiter = asyncio.create_task(policy.call(gates[0].wait))
        await asyncio.sleep(0)
        assert policy.bulkhead.waiting == 1
        acts: list[Callable[[], object]] = [gates[0].set, waiter.cancel]
        if first == "cancel":
            acts.reverse()
        acts[0]()
        for _ in range(steps):
            await asyncio.sleep(0)
        acts[1]()
        gates[1].set()
        await asyncio.gather(waiter, *holders, return_exceptions=True)
        assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)


def test_a_thread_that_gives_up_as_it_is_granted() -> None:
    """Waits of about the time that slots are held: each ends served or refused, once."""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=50, max_wait=0.002)
    )
    outcomes: list[str] = []
    pause = threading.Event()

    def caller() -> None:
        for _ in range(25):
            try:
                policy.call(pause.wait, 0.001)
            except BulkheadFullError:
                outcomes.append("refused")
            else:
                outcomes.append("served")

    threads = [threading.Thread(target=caller, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 200
    assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)
    policy.call(lambda: policy.call(int))
