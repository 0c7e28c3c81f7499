"""Blocking steps of a store in threads, for the async forms."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

R = TypeVar("R")

THREADS = 4
"""Writers of one file wait for each other, so that more would only wait."""


class _Threads:
    """Daemon threads, made when there is work: a step that hangs holds up no exit."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = Lock()
        self._started = 0
        self._open = 0

    def submit(self, run: Callable[[], R]) -> Future[R]:
        """Run it in one of the threads."""
        future: Future[R] = Future()
        with self._lock:
            self._open += 1
            if self._started < min(self._open, self._size):
                name = f"policyctl queue {self._started}"
                Thread(target=self._run, name=name, daemon=True).start()
                self._started += 1
        self._work.put((future, run))
        return future

    def _run(self) -> None:
        while True:
            self._serve(*self._work.get())

    def _serve(self, future: Future[R], run: Callable[[], R]) -> None:
        left = [1]

        def work() -> R:
            try:
                return run()
            finally:  # free before the answer is known: who has it may ask for the next
                self._end(left)

        _fulfil(future, work)
        self._end(left)

    def _end(self, left: list[int]) -> None:
        with self._lock:
            self._open -= sum(left)
            left.clear()


def _fulfil(future: Future[R], run: Callable[[], R]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(run())
    except BaseException as error:
        future.set_exception(error)


_pools: dict[tuple[int, int], _Threads] = {}


def _pool(size: int) -> _Threads:
    """The threads of this process for stores of a kind."""
    key = os.getpid(), size
    pool = _pools.get(key)
    if pool is None:
        pool = _pools.setdefault(key, _Threads(size))
    return pool


class _Step(Generic[R]):
    """A step for a task that may be gone before it has what the step gives.

    Then it is undone by whoever comes second: the thread when the step ends, or another
    step if it had ended. The event loop takes no part, since it may be blocked or closed.
    """

    def __init__(self, run: Callable[[], R], undo: Callable[[R], object]) -> None:
        self._run = run
        self._undo = undo
        self._lock = Lock()
        self._gone = False
        self._given: list[R] = []

    def __call__(self) -> R:
        result = self._run()
        with self._lock:
            self._given.append(result)
            gone = self._gone
        if gone:
            self._undo(result)
        return result

    def give_up(self, pool: _Threads) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._gone = True
            given = [*self._given]
        for result in given:
            pool.submit(partial(self._undo, result))


async def in_thread(
    run: Callable[[], R],
    undo: Callable[[R], object] | None = None,
    *,
    threads: int = THREADS,
) -> R:
    """Run a step in one of as many threads.

    A cancelled caller does not wait for the step; ``undo`` is then called, in a thread,
    with what it gives after all.
    """
    pool = _pool(threads)
    step = None if undo is None else _Step(run, undo)
    future = asyncio.wrap_future(pool.submit(run if step is None else step))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if step is not None:
            step.give_up(pool)
        future.add_done_callback(_look_at)
        raise


def in_background(run: Callable[[], object]) -> None:
    """Run a step in a thread; nobody waits for it or hears of its errors."""
    _pool(THREADS).submit(run)


def _look_at(future: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for any more."""
    if not future.cancelled():
        future.exception()
