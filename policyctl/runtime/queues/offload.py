"""Blocking steps of a store in threads, for the async forms."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

R = TypeVar("R")

THREADS = 4
"""Writers of one file wait for each other, so that more would only wait."""


class _Threads:
    """Daemon threads, made when there is work: a step that hangs holds up no exit."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
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
        self._work.put(partial(_fulfil, future, run))
        return future

    def _run(self) -> None:
        while True:
            self._work.get()()
            with self._lock:
                self._open -= 1


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


async def in_thread(
    run: Callable[[], R],
    undo: Callable[[R], object] | None = None,
    *,
    threads: int = THREADS,
) -> R:
    """Run a step in one of as many threads.

    A cancelled caller does not wait for the step; ``undo`` is then called, in the
    thread, with what it gives after all.
    """
    cancelled = False

    def work() -> R:
        result = run()
        if cancelled and undo is not None:
            undo(result)
        return result

    future: asyncio.Future[R] = asyncio.wrap_future(_pool(threads).submit(work))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancelled = True
        if undo is not None and future.done() and not future.cancelled():
            if future.exception() is None:
                undo(future.result())
        else:
            future.add_done_callback(_look_at)
        raise


def _look_at(future: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for any more."""
    if not future.cancelled():
        future.exception()
