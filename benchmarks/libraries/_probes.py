"""Small questions about correctness that every library is asked.

Each probe returns whether the library passes; it is not asked what the library has no
pattern for. They use real time, in breaks of 50 ms, because the libraries have no
common clock to turn.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from benchmarks.libraries._adapter import FAILURES, Function, Library

BREAK = 0.05
PATIENCE = 2.0

AsyncProbe = Callable[[Library], Coroutine[Any, Any, bool]]


class Target:
    """What is guarded: fails, hangs or returns as it is told."""

    def __init__(self) -> None:
        self.fails = False
        self.hangs = False
        self.inside = self.most = self.entered = 0
        self.release = threading.Event()

    def _enter(self) -> None:
        self.entered += 1
        self.inside += 1
        self.most = max(self.most, self.inside)

    async def coroutine(self) -> str:
        """Async."""
        self._enter()
        hangs = self.hangs
        try:
            while hangs and not self.release.is_set():
                await asyncio.sleep(0.001)
            await asyncio.sleep(0)
            if self.fails:
                raise ConnectionError
            return "done"
        finally:
            self.inside -= 1

    def plain(self) -> str:
        """Sync."""
        self._enter()
        try:
            if self.hangs:
                self.release.wait(PATIENCE)
            if self.fails:
                raise ConnectionError
            return "done"
        finally:
            self.inside -= 1


async def _opened(library: Library) -> tuple[Target, Function]:
    """A target whose breaker has just opened."""
    target = Target()
    assert library.breaker_async is not None
    guarded = library.breaker_async(target.coroutine, BREAK)
    target.fails = True
    for _ in range(FAILURES):
        try:
            await guarded()
        except Exception:
            continue
    target.fails = False
    target.entered = 0
    return target, guarded


async def _rejected(library: Library, guarded: Function) -> bool:
    assert library.opened is not None
    try:
        await guarded()
    except library.opened:
        return True
    return False


async def cancelled_probe(library: Library) -> bool:
    """A probe that is cancelled gives its permit back; the next call is served."""
    target, guarded = await _opened(library)
    await asyncio.sleep(BREAK * 1.2)
    target.hangs = True
    probe = asyncio.create_task(guarded())
    await asyncio.sleep(0.01)
    probe.cancel()
    await asyncio.wait([probe])
    target.hangs = False
    for _ in range(3):
        if not await _rejected(library, guarded):
            return probe.cancelled()
        await asyncio.sleep(BREAK * 1.2)
    return False


async def one_probe(library: Library) -> bool:
    """Of 8 tasks that find the break over, one gets through."""
    target, guarded = await _opened(library)
    await asyncio.sleep(BREAK * 1.2)
    target.hangs = True
    tasks = [asyncio.create_task(guarded()) for _ in range(8)]
    await asyncio.sleep(0.02)
    target.release.set()
    await asyncio.wait(tasks)
    for task in tasks:
        task.exception()
    return target.most == 1


async def late_success(library: Library) -> bool:
    """A success of a call from before the break does not close the circuit."""
    assert library.breaker_async is not None
    target = Target()
    guarded = library.breaker_async(target.coroutine, 30.0)
    target.hangs = True
    late = asyncio.create_task(guarded())
    await asyncio.sleep(0.005)
    target.hangs, target.fails = False, True
    for _ in range(2 * FAILURES):
        try:
            await guarded()
        except Exception:
            continue
    target.fails = False
    target.release.set()
    await asyncio.wait([late])
    late.exception()
    return await _rejected(library, guarded)


async def cancel_is_no_failure(library: Library) -> bool:
    """Cancelled calls come out as cancelled and do not open the circuit."""
    assert library.breaker_async is not None
    target = Target()
    guarded = library.breaker_async(target.coroutine, 30.0)
    target.hangs = True
    for _ in range(2 * FAILURES):
        task = asyncio.create_task(guarded())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel("bye")
        await asyncio.wait([task])
        if not task.cancelled():
            return False
    target.hangs = False
    return not await _rejected(library, guarded)


async def cancel_passes(library: Library) -> bool:
    """The whole stack lets a cancel through at once, without another attempt."""
    assert library.stack_async is not None
    target = Target()
    guarded = library.stack_async(target.coroutine)
    target.hangs = True
    task = asyncio.create_task(guarded())
    await asyncio.sleep(0.005)
    task.cancel("bye")
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    target.release.set()
    return bool(done) and task.cancelled() and target.entered == 1


class _FailsTwice:
    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self) -> int:
        self.calls += 1
        await asyncio.sleep(0)
        if self.calls < 3:
            raise ConnectionError
        return self.calls


async def async_in_disguise(library: Library) -> bool:
    """Partials, async callables and lambdas that return coroutines are retried."""
    assert library.retry_async is not None
    for disguise in (
        lambda target: partial(target),
        lambda target: target,
        lambda target: lambda: target(),
    ):
        guarded = library.retry_async(disguise(_FailsTwice()))
        if await guarded() != 3:
            return False
    return True


async def wake_up_passed_on(library: Library) -> bool:
    """A waiter that is cancelled as it is woken leaves the slot to the next."""
    assert library.bulkhead_async is not None
    for order in (0, 1):
        gate = asyncio.Event()

        async def work(gate: asyncio.Event = gate) -> str:
            await gate.wait()
            return "done"

        guarded = library.bulkhead_async(work, 1)
        tasks = [asyncio.create_task(guarded()) for _ in range(3)]
        await asyncio.sleep(0.005)
        gate.set()
        for _ in range(order):
            await asyncio.sleep(0)
        tasks[1].cancel()
        _, pending = await asyncio.wait(tasks, timeout=0.5)
        for task in pending:
            task.cancel()
        if pending or tasks[2].exception() is not None:
            return False
    return True


def one_probe_of_threads(library: Library) -> bool:
    """Of 8 threads that find the break over, one gets through."""
    assert library.breaker_sync is not None
    target = Target()
    guarded = library.breaker_sync(target.plain, BREAK)
    target.fails = True
    for _ in range(FAILURES):
        try:
            guarded()
        except Exception:
            continue
    target.fails, target.hangs = False, True
    time.sleep(BREAK * 1.2)
    start = threading.Barrier(8)

    def enter() -> None:
        start.wait()
        try:
            guarded()
        except Exception:
            return

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    target.release.set()
    for thread in threads:
        thread.join(PATIENCE)
    return target.most == 1


def calls_run_side_by_side(library: Library) -> bool:
    """The breaker holds no lock while the function runs."""
    assert library.breaker_sync is not None
    both = threading.Barrier(2)

    def work() -> None:
        both.wait(0.5)

    guarded = library.breaker_sync(work, 30.0)
    failed: list[Exception] = []

    def enter() -> None:
        try:
            guarded()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return not failed


ASYNC: tuple[tuple[str, str, AsyncProbe], ...] = (
    ("cancelled probe", "breaker_async", cancelled_probe),
    ("one probe, tasks", "breaker_async", one_probe),
    ("late success", "breaker_async", late_success),
    ("cancel no failure", "breaker_async", cancel_is_no_failure),
    ("cancel passes", "stack_async", cancel_passes),
    ("async in disguise", "retry_async", async_in_disguise),
    ("wake-up passed on", "bulkhead_async", wake_up_passed_on),
)
SYNC: tuple[tuple[str, str, Callable[[Library], bool]], ...] = (
    ("one probe, threads", "breaker_sync", one_probe_of_threads),
    ("no lock in calls", "breaker_sync", calls_run_side_by_side),
)


def ask(library: Library) -> dict[str, bool | None]:
    """All probes; None where the library has no such pattern."""
    answers: dict[str, bool | None] = {}
    for name, needs, probe in ASYNC:
        answers[name] = None
        if getattr(library, needs) is not None:
            answers[name] = _pass(partial(_run, probe, library))
    for name, needs, blocking in SYNC:
        answers[name] = None
        if getattr(library, needs) is not None:
            answers[name] = _pass(partial(blocking, library))
    return answers


def _run(probe: AsyncProbe, library: Library) -> bool:
    return asyncio.run(asyncio.wait_for(probe(library), 10.0))


def _pass(probe: Callable[[], bool]) -> bool:
    try:
        return probe()
    except Exception:
        return False
