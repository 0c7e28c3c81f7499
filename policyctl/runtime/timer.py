"""Time limits for attempts in tasks: one exact timer each, or a shared coarse wheel.

Both cancel the task that runs the attempt and balance that cancel when the attempt
ends (C22). The wheel keeps the attempts of one event loop that share one limit in the
order of their deadlines, so that one loop timer serves them all: it looks when the
oldest deadline plus the allowed lateness has passed, and retires when it is empty. A
wheel belongs to one loop and is only touched from there.
"""

from __future__ import annotations

from asyncio import CancelledError, get_running_loop
from typing import Any

from policyctl.runtime.clock import CLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task, TimerHandle

POLL = 0.002
"""Seconds between looks at a clock that was swapped for a test's."""


def lateness(limit: float) -> float:
    """How late a limit may fire at most: 5 % of it, at least 20 ms (C22)."""
    return max(0.02, limit * 0.05)


def cleanup_time(limit: float) -> float:
    """How long an attempt may clean up after its limit before it is cancelled again."""
    return min(1.0, max(0.05, limit))


class Limit:
    """The limit of one running attempt, armed exactly.

    Attributes:
        fired: how often the task was cancelled for it.
    """

    __slots__ = ("_cancels", "_deadline", "_handle", "_loop", "_task", "_time", "fired")

    _handle: TimerHandle | None

    def __init__(
        self,
        loop: AbstractEventLoop,
        task: Task[Any],
        cancels: int,
        limit: float,
        deadline: float,
    ) -> None:
        self._loop = loop
        self._task: Task[Any] | None = task
        self._cancels = cancels
        self._time = limit
        self._deadline = deadline
        self._handle = None
        self.fired = 0

    def arm(self) -> None:
        """Start the timer for the deadline."""
        left = max(0.0, self._deadline - CLOCK.now())
        self._handle = self._loop.call_later(
            left if CLOCK.real else min(left, POLL), self._look
        )

    def _look(self) -> None:
        if CLOCK.now() < self._deadline:
            self.arm()
        else:
            self.fire()

    def fire(self) -> None:
        """Cancel the attempt, and again each time that its clean-up takes too long."""
        task = self._task
        if task is None:
            return
        self.fired += 1
        grace = cleanup_time(self._time)
        self._deadline = CLOCK.now() + grace
        self.arm()
        task.cancel()

    def end(self, error: BaseException | None) -> bool:
        """Disarm and take back our own cancels.

        Returns:
            Whether ``error`` is our own cancel and nobody else's.
        """
        task, self._task = self._task, None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if not self.fired or task is None:
            return False
        cancels = 0
        for _ in range(self.fired):
            cancels = task.uncancel()
        if not isinstance(error, CancelledError):
            return False
        if cancels <= self._cancels:
            return True
        if not error.args and (message := getattr(task, "_cancel_message", None)):
            error.args = (message,)
        return False


def limit_attempt(limit: float, deadline: float) -> Limit:
    """Arm an exact limit for the attempt that the running task is about to make."""
    from asyncio import current_task

    loop = get_running_loop()
    task = current_task(loop)
    if task is None:
        raise RuntimeError("an attempt timeout needs a running task")
    armed = Limit(loop, task, task.cancelling(), limit, deadline)
    armed.arm()
    return armed


class Wheel:
    """The attempts of one loop that share one limit, at most one for each task.

    Attributes:
        loop: the event loop while a look is scheduled there, else None.
        armed: deadlines of what is running, in their order; a ``Limit`` has fired. A
            task that was being cancelled already, or that is in here, uses a ``Limit``
            of its own instead.
    """

    __slots__ = ("_late", "_limit", "armed", "loop")

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._late = lateness(limit) * 0.5
        self.loop: AbstractEventLoop | None = None
        self.armed: dict[Task[Any], float | Limit] = {}

    def start(self, loop: AbstractEventLoop) -> None:
        """Schedule the first look; everything is armed later than now."""
        self.loop = loop
        self._schedule(loop, self._limit)

    def _schedule(self, loop: AbstractEventLoop, delay: float) -> None:
        loop.call_later(delay + self._late if CLOCK.real else POLL, _Look(self))

    def look(self) -> None:
        """Fire what is due, and schedule the next look or retire."""
        loop, now, armed = self.loop, CLOCK.now(), self.armed
        if loop is None:
            return
        due: list[tuple[Task[Any], float]] = []
        wait = self._limit
        for task, entry in armed.items():
            if isinstance(entry, Limit):
                continue
            if entry > now:
                wait = entry - now
                break
            due.append((task, entry))
        for task, deadline in due:
            limit = Limit(loop, task, 0, self._limit, deadline)
            armed[task] = limit
            limit.fire()
        if armed:
            self._schedule(loop, wait)
        else:
            self.retire()

    def retire(self) -> None:
        """Let go of the loop; the next attempt starts a wheel of its own."""
        loop, self.loop = self.loop, None
        if loop is not None:
            _WHEELS.pop((loop, self._limit), None)


class _Look:
    """A wheel's place in its loop's schedule.

    Only the loop holds it. A loop that is closed drops its schedule, and with it the
    last reason for the wheel to hold the loop.
    """

    __slots__ = ("_wheel",)

    def __init__(self, wheel: Wheel) -> None:
        self._wheel: Wheel | None = wheel

    def __call__(self) -> None:
        wheel, self._wheel = self._wheel, None
        if wheel is not None:
            wheel.look()

    def __del__(self) -> None:
        if self._wheel is not None:
            self._wheel.armed.clear()
            self._wheel.retire()


_WHEELS: dict[tuple[AbstractEventLoop, float], Wheel] = {}


def find_wheel(loop: AbstractEventLoop, limit: float) -> Wheel:
    """The running wheel of ``loop`` for attempts of ``limit`` seconds."""
    wheel = _WHEELS.get((loop, limit))
    if wheel is None:
        wheel = _WHEELS[loop, limit] = Wheel(limit)
        wheel.start(loop)
    return wheel
