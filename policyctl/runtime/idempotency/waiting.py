"""Waiting for another call's key: woken by stores that can, polling others."""

from __future__ import annotations

from policyctl.runtime.clock import CLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.idempotency.memory import Store

POLL = 0.02
LONGEST_POLL = 0.5
"""Seconds between looks at a store that cannot wake anybody; doubled up to this."""


def _pause(deadline: float, longest: float) -> float:
    """Real seconds to wait at once; short where a test turns the clock."""
    left = deadline - CLOCK.now()
    return max(0.0, min(left, longest if CLOCK.real else POLL / 4))


def wait_in_thread(store: Store, key: str, deadline: float, pause: float) -> None:
    """Block until the key may have come free, for at most half a second."""
    from _thread import allocate_lock

    lock = allocate_lock()
    lock.acquire()
    if not store.watch(key, lock.release):
        CLOCK.sleep(min(pause, max(0.0, deadline - CLOCK.now())))
        return
    try:
        lock.acquire(timeout=_pause(deadline, LONGEST_POLL))
    finally:
        store.unwatch(key, lock.release)


async def wait_in_task(store: Store, key: str, deadline: float, pause: float) -> None:
    """Suspend until the key may have come free, for at most half a second."""
    import asyncio

    if store.blocking:
        await CLOCK.async_sleep(min(pause, max(0.0, deadline - CLOCK.now())))
        return
    loop = asyncio.get_running_loop()
    woken = loop.create_future()

    def finish() -> None:
        if not woken.done():
            woken.set_result(None)

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(finish)
        except RuntimeError:
            return

    store.watch(key, wake)
    try:
        await asyncio.wait([woken], timeout=_pause(deadline, LONGEST_POLL))
    finally:
        store.unwatch(key, wake)
