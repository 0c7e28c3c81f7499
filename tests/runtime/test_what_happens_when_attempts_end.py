"""The rows about cancels, timeouts and threads of the table in docs/runtime.md."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import AttemptTimeoutError, NoThreadError
from policyctl.runtime.policy import Policy
from policyctl.runtime.run_sync import BlockingCallWarning
from policyctl.testing import fake_clock

BREAKER = settings.CircuitBreaker(failure_threshold=1, record_on=("timeout",))


def limited(seconds: float, **more: Any) -> Policy:
    """An attempt timeout and a breaker that opens on the first failure."""
    limit = settings.AttemptTimeout(total=seconds)
    return Policy(attempt_timeout=limit, circuit_breaker=BREAKER, **more)


async def cancel_soon(task: asyncio.Task[Any], message: str) -> None:
    """Let the task get to its await, then cancel it."""
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel(message)


async def test_the_caller_is_cancelled() -> None:
    """What happens when the caller is cancelled?"""
    policy = limited(
        60.0,
        retry=settings.Retry(retry_on=("Exception",)),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        fallback=settings.FallbackValue(value="no", fallback_on=("Exception",)),
    )
    entries: list[int] = []

    @policy
    async def hang() -> None:
        entries.append(1)
        await asyncio.sleep(60)

    task = asyncio.create_task(hang())
    await cancel_soon(task, "shutdown")
    with pytest.raises(asyncio.CancelledError, match="shutdown"):
        await task
    assert entries == [1]
    assert policy.bulkhead.in_use == 0
    assert policy.circuit_breaker.state == "closed"


async def test_cancel_and_timeout() -> None:
    """What happens when cancel and timeout fall together?"""
    policy = limited(0.02)

    @policy
    async def hold() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            # Ours has come; the caller's comes before the attempt has ended.
            current = asyncio.current_task()
            assert current is not None
            current.cancel("both")
            await asyncio.sleep(0)

    task = asyncio.create_task(hold())
    with pytest.raises(asyncio.CancelledError, match="both"):
        await task
    assert policy.circuit_breaker.state == "closed"


async def test_long_clean_up() -> None:
    """What happens when clean-up after our timeout takes long?"""
    began: list[float] = []

    @limited(0.1)
    async def tidy() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            began.append(time.monotonic())
            await asyncio.sleep(60)

    with pytest.raises(AttemptTimeoutError):
        await tidy()
    assert 0.08 < time.monotonic() - began[0] < 5.0


async def test_swallowed_cancels() -> None:
    """What happens when my code swallows our cancels?"""
    policy = limited(0.1)
    cancelled: list[float] = []

    @policy
    async def stubborn() -> str:
        while len(cancelled) < 12:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(time.monotonic())
        return "after all"

    assert await stubborn() == "after all"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert policy.circuit_breaker.state == "open"
    # 0.1 + 0.05 + 0.025 + 0.0125 + 7 x 0.01 at least; each as long would be 1.1.
    assert 0.25 < cancelled[-1] - cancelled[0] < 1.0


async def test_anyio_shields() -> None:
    """What happens when my code shields its work with anyio?"""
    reached: list[int] = []

    @limited(0.05)
    async def shielded() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(60)
            reached.append(1)

    with pytest.raises(AttemptTimeoutError):
        await shielded()
    assert reached == []


async def test_another_error() -> None:
    """What happens when my code turns our cancel into another error?"""
    policy = limited(0.02, retry=settings.Retry(retry_on=("timeout",)))
    entries: list[int] = []

    @policy
    async def rename() -> None:
        entries.append(1)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("mine") from None

    with pytest.raises(ValueError, match="mine"):
        await rename()
    assert entries == [1]
    assert policy.circuit_breaker.state == "closed"


def test_a_thread_that_goes_on() -> None:
    """What happens when a sync call times out in its thread?"""
    policy = limited(0.05, bulkhead=settings.Bulkhead(max_concurrent=1))
    gate = threading.Event()
    try:
        with pytest.raises(AttemptTimeoutError):
            policy.call(gate.wait, 20)
        assert policy.bulkhead.in_use == 1
        assert policy.abandoned == 1
    finally:
        gate.set()
    end = time.monotonic() + 5
    while policy.bulkhead.in_use and time.monotonic() < end:
        time.sleep(0.005)
    assert policy.bulkhead.in_use == 0


def test_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens when no thread can be started for a sync call?"""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    policy = limited(5.0)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    entries: list[int] = []
    with pytest.raises(NoThreadError):
        policy.call(entries.append, 1)
    assert entries == []
    assert policy.circuit_breaker.state == "closed"


async def test_a_blocked_loop() -> None:
    """What happens when a plain function would wait in a thread that runs an event loop?"""
    outcomes: list[type[Exception] | None] = [TimeoutError, None]

    def work() -> str:
        if (error := outcomes.pop(0)) is not None:
            raise error
        return "ok"

    policy = Policy(retry=settings.Retry(retry_on=("timeout",)))
    with fake_clock() as clock, pytest.warns(BlockingCallWarning):
        assert policy.call(work) == "ok"
    assert len(clock.slept) == 1


def test_a_generator_from_a_lambda() -> None:
    """What happens when a guarded `lambda` returns a generator?"""
    policy = Policy(
        circuit_breaker=BREAKER, bulkhead=settings.Bulkhead(max_concurrent=1)
    )

    def items() -> Iterator[int]:
        yield policy.bulkhead.in_use
        raise TimeoutError

    found = policy(lambda: items())()
    assert next(found) == 0
    with pytest.raises(TimeoutError):
        next(found)
    assert policy.circuit_breaker.state == "closed"
