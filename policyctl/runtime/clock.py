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
    """

    __slots__ = ("_names", "_quick", "async_sleep", "now", "real", "sleep")

    now: Callable[[], float]
    sleep: Callable[[float], None]
    async_sleep: Callable[[float], Awaitable[None]]
    real: bool

    def __init__(self) -> None:
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

    def reset(self) -> None:
        """Go back to the clock of the machine."""
        self.now = time.monotonic
        self.sleep = time.sleep
        self.async_sleep = _async_sleep
        self.real = True


CLOCK_ID = 1
"""``time.CLOCK_MONOTONIC`` on Linux."""


def _quick_form(now: Callable[[], float]) -> Callable[[int], float]:
    if now is time.monotonic and sys.platform == "linux":
        return time.clock_gettime
    return lambda clock_id: now()


CLOCK = Clock()
"""The clock of this process."""


def monotonic() -> float:
    """Seconds of the process's clock, which only goes forward."""
    return CLOCK.now()
