"""Clocks for tests: time that stands still until a test moves it.

Every part of the runtime asks one clock, so that breakers recover, budgets run out and
back-off passes without a real second going by. Timers of running attempts look at it
every few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from policyctl.runtime.clock import CLOCK


class FakeClock:
    """A clock that moves by ``advance`` and by the sleeps of the runtime alone.

    Use it as a context manager; only one fake clock can be in force, and leaving puts
    back what was there.

    Attributes:
        slept: every sleep so far, in seconds, in order.
    """

    def __init__(self, start: float = 1000.0) -> None:
        self.slept: list[float] = []
        self._offset = start
        self._before: _Functions | None = None

    def now(self) -> float:
        """Monotonic seconds; starts at ``start``."""
        return self._offset

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: ``seconds`` is negative.
        """
        if not seconds >= 0:
            raise ValueError(f"{seconds!r} s: this clock only goes forward")
        self._offset += seconds

    def sleep(self, seconds: float) -> None:
        """Move time by ``seconds`` and come back at once."""
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))

    async def async_sleep(self, seconds: float) -> None:
        """Move time by ``seconds`` and let other tasks run once."""
        import asyncio

        self.sleep(seconds)
        await asyncio.sleep(0)

    def __enter__(self) -> Self:
        if self._before is not None:
            raise RuntimeError("this clock is in force already")
        self._before = (CLOCK.now, CLOCK.sleep, CLOCK.async_sleep, CLOCK.real)
        CLOCK.now = self.now
        CLOCK.sleep = self.sleep
        CLOCK.async_sleep = self.async_sleep
        CLOCK.real = False
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is None:
            raise RuntimeError("this clock is not in force")
        CLOCK.now, CLOCK.sleep, CLOCK.async_sleep, CLOCK.real = self._before
        self._before = None


_Functions = tuple[
    Callable[[], float],
    Callable[[float], None],
    Callable[[float], Awaitable[None]],
    bool,
]


class NoSleepClock(FakeClock):
    """The real clock with sleeps left out: they count as time but take none."""

    def __init__(self) -> None:
        super().__init__(start=0.0)

    def now(self) -> float:
        """Real monotonic seconds plus all that was slept or advanced."""
        return time.monotonic() + self._offset


def fake_clock(start: float = 1000.0) -> FakeClock:
    """``with fake_clock() as clock:`` time stands still until ``clock.advance(30)``."""
    return FakeClock(start)


def no_sleep() -> NoSleepClock:
    """``with no_sleep() as clock:`` real time, but back-off and waits take none."""
    return NoSleepClock()
