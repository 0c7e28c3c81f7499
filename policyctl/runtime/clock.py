"""The one source of time and sleep of the runtime.

Everything measures with ``CLOCK.now()`` (monotonic seconds) and waits with ``CLOCK``;
``policyctl.testing`` swaps the functions to let tests turn time by hand. Wall time is
never used inside a process, so its jumps change nothing.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any


async def _async_sleep(delay: float) -> None:
    from asyncio import sleep

    await sleep(delay)


class Clock:
    """Functions for time; assign to them to change them everywhere at once.

    Attributes:
        now: monotonic seconds.
        sleep: blocks the thread for seconds.
        async_sleep: suspends the task for seconds.
        real: False while the functions are swapped for others; timers then look at
            ``now`` every few milliseconds instead of trusting the event loop's time.
        swapped: called when ``real`` is set, since timers may wait for the old time.
    """

    __slots__ = ("_names", "_quick", "async_sleep", "now", "real", "sleep", "swapped")

    now: Callable[[], float]
    sleep: Callable[[float], None]
    async_sleep: Callable[[float], Awaitable[None]]
    real: bool
    swapped: Callable[[], object] | None

    def __init__(self) -> None:
        self.swapped = None
        self._names: dict[str, Any] = {}
        self._quick = ""
        self.reset()

    def publish(self, names: dict[str, Any], quick: str) -> None:
        """Keep ``quick`` in ``names``: a function that gives ``now`` for ``CLOCK_ID``.

        On Linux ``time.monotonic`` is ``clock_gettime`` of this clock with more around it.
        """
        self._names = names
        self._quick = quick
        self.now = self.now

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "now":
            self._names[self._quick] = _quick_form(value)
        elif name == "real" and self.swapped is not None:
            self.swapped()

    def reset(self) -> None:
        """Go back to the clock of the machine."""
        self.now = time.monotonic
        self.sleep = time.sleep
        self.async_sleep = _async_sleep
        self.real = True


CLOCK_ID = 1
"""``time.CLOCK_MONOTONIC`` on Linux."""


_MONOTONIC = time.monotonic if isinstance(time.monotonic, type(len)) else None
_GETTIME = time.clock_gettime if sys.platform == "linux" else None


def _quick_form(now: Callable[[], float]) -> Callable[[int], float]:
    # Libraries that freeze time put functions of their own in place of some only.
    if now is _MONOTONIC and _GETTIME is not None:
        return _GETTIME
    return lambda clock_id: now()


CLOCK = Clock()
"""The clock of this process."""


def monotonic() -> float:
    """Seconds of the process's clock, which only goes forward."""
    return CLOCK.now()
