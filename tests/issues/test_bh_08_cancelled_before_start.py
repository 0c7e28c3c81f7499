"""BH-08: a call that gave up waiting must not be started later."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import AttemptTimeoutError, BulkheadFullError
from policyctl.runtime.policy import Policy


@pytest.mark.timing
def test_a_thread_that_gave_up_waiting_never_enters() -> None:
    """One slot, held; the second call times out in the queue; then the slot is free."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=10.0),
        bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=0.05),
    )
    entries: list[str] = []
    inside, gate = threading.Event(), threading.Event()

    @policy
    def call(name: str) -> None:
        entries.append(name)
        inside.set()
        gate.wait(60)

    holder = threading.Thread(target=call, args=("holder",), daemon=True)
    holder.start()
    inside.wait(60)
    with pytest.raises(BulkheadFullError):
        call("second")
    gate.set()
    holder.join()
    assert entries == ["holder"]
    assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)


async def test_a_task_that_was_cancelled_while_waiting_never_enters() -> None:
    """The same for tasks, cancelled in the queue."""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=60.0))
    entries: list[str] = []
    gate = asyncio.Event()

    @policy
    async def call(name: str) -> None:
        entries.append(name)
        await gate.wait()

    holder = asyncio.create_task(call("holder"))
    await asyncio.sleep(0)
    second = asyncio.create_task(call("second"))
    await asyncio.sleep(0)
    second.cancel()
    gate.set()
    await asyncio.gather(holder, second, return_exceptions=True)
    assert entries == ["holder"]
    assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)


def test_a_call_that_timed_out_keeps_its_slot_until_its_thread_ends() -> None:
    """C21: abandoned work still loads the callee, so it still counts."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=0.05),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )
    gate = threading.Event()

    @policy
    def call() -> None:
        gate.wait(60)

    with pytest.raises(AttemptTimeoutError):
        call()
    assert (policy.bulkhead.in_use, policy.abandoned) == (1, 1)
    with pytest.raises(BulkheadFullError):
        call()
    gate.set()
    end = time.monotonic() + 5
    while policy.bulkhead.in_use and time.monotonic() < end:
        time.sleep(0.001)
    assert (policy.bulkhead.in_use, policy.abandoned) == (0, 0)
    call()
