"""Blocking steps of a store in threads, for the async forms."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

R = TypeVar("R")

THREADS = 4
"""Writers of one file wait for each other, so that more would only wait."""

_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """The threads of this process."""
    pool = _pools.get(os.getpid())
    if pool is None:
        pool = ThreadPoolExecutor(THREADS, thread_name_prefix="policyctl queue")
        _pools[os.getpid()] = pool
    return pool


async def in_thread(
    run: Callable[[], R], undo: Callable[[R], object] | None = None
) -> R:
    """Run a step in a thread.

    A cancelled caller does not wait for the step; ``undo`` is then called, in the
    thread, with what it gives after all.
    """
    cancelled = False

    def work() -> R:
        result = run()
        if cancelled and undo is not None:
            undo(result)
        return result

    future: asyncio.Future[R] = asyncio.get_running_loop().run_in_executor(
        _pool(), work
    )
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
