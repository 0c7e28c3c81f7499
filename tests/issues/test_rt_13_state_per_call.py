"""RT-13: attempts are counted per call, not on a shared object."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


def make() -> Policy:
    """Three attempts with no wait."""
    return Policy(
        retry=settings.Retry(
            max_attempts=3,
            retry_on=("timeout",),
            backoff=settings.Backoff(initial=0.0, max=0.0, jitter="none"),
        )
    )


async def test_concurrent_tasks_have_their_own_attempts() -> None:
    """Fifty failing tasks make 150 entries, three for each task."""
    entries: Counter[int] = Counter()

    @make()
    async def call(number: int) -> None:
        entries[number] += 1
        await asyncio.sleep(0)
        raise TimeoutError

    calls = (call(number) for number in range(50))
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(error, TimeoutError) for error in errors)
    assert entries == dict.fromkeys(range(50), 3)


def test_concurrent_threads_have_their_own_attempts() -> None:
    """The same for twenty threads."""
    entries: Counter[int] = Counter()
    lock = threading.Lock()

    @make()
    def call(number: int) -> None:
        with lock:
            entries[number] += 1
        raise TimeoutError

    def work(number: int) -> None:
        try:
            call(number)
        except TimeoutError:
            return

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entries == dict.fromkeys(range(20), 3)


async def test_calls_inside_calls_have_their_own_attempts(settle: Any) -> None:
    """A guarded function that calls itself makes three entries on each level."""
    entries: Counter[int] = Counter()

    @make()
    async def call(depth: int) -> None:
        entries[depth] += 1
        if depth:
            await call(depth - 1)
        raise TimeoutError

    assert isinstance(await settle(call(2)), TimeoutError)
    assert entries == {2: 3, 1: 9, 0: 27}
