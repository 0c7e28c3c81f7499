"""The one source of time and sleep of the runtime.

Everything measures with ``CLOCK.now()`` (monotonic seconds) and waits with ``CLOCK``;
``policyctl.testing`` swaps the functions to let tests turn time by hand. Wall time is
never used inside a process, so its jumps change nothing.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


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

    __slots__ = ("async_sleep", "now", "real", "sleep")

    now: Callable[[], float]
    sleep: Callable[[float], None]
    async_sleep: Callable[[float], Awaitable[None]]
    real: bool

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Go back to the clock of the machine."""
        self.now = time.monotonic
        self.sleep = time.sleep
        self.async_sleep = _async_sleep
        self.real = True


CLOCK = Clock()
"""The clock of this process."""


def monotonic() -> float:
    """Seconds of the process's clock, which only goes forward."""
    return CLOCK.now()
