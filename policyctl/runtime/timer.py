"""Time limits for attempts in tasks: one exact timer each, or a shared coarse wheel.

Both cancel the task that runs the attempt and balance that cancel when the attempt
ends (C22). The wheel keeps the attempts of one event loop that share one limit, so that
one loop timer serves them all: it looks when the oldest deadline plus the allowed
lateness has passed, and retires when it is empty. A wheel belongs to one loop and is
only touched from there.
"""

from __future__ import annotations

from asyncio import CancelledError, current_task, get_running_loop
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


def cleanup_time(limit: float, cancels: int = 1) -> float:
    """How long an attempt may clean up after its limit before it is cancelled again.

    Half as long after each further cancel, at least 10 ms: all in all an attempt that
    goes on has twice the first time, and 10 ms for each cancel that it swallows on top.
    """
    return max(0.01, min(1.0, max(0.05, limit)) / 2.0 ** min(cancels - 1, 16))


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
        grace = cleanup_time(self._time, self.fired)
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


def limit_attempt(limit: float, deadline: float, exact: bool = True) -> Limit | Place:
    """Arm a limit for the attempt that the running task is about to make.

    One that need not be exact goes to the wheel, where that is possible.
    """
    loop = get_running_loop()
    task = current_task(loop)
    if task is None:
        raise RuntimeError("an attempt timeout needs a running task")
    cancels = task.cancelling()
    if not exact and not cancels:
        return find_wheel(loop, limit).take(task, deadline)
    armed = Limit(loop, task, cancels, limit, deadline)
    armed.arm()
    return armed


class Place:
    """A place in a wheel for one running attempt; used again when it was left.

    Attributes:
        task: who runs the attempt, None while the place is free.
        due: the attempt's deadline.
        limit: what cancels the task, from the deadline on.
        wheel: whose place it is.
        next: the free place that is taken after this one.
    """

    __slots__ = ("due", "limit", "next", "task", "wheel")

    def __init__(self, wheel: Wheel) -> None:
        self.wheel = wheel
        self.due = 0.0
        self.task: Task[Any] | None = None
        self.limit: Limit | None = None
        self.next: Place | None = None

    @property
    def fired(self) -> int:
        """How often the task was cancelled for the limit."""
        return 0 if self.limit is None else self.limit.fired

    def end(self, error: BaseException | None) -> bool:
        """Leave the place; as ``Limit.end``."""
        limit, self.limit, self.task = self.limit, None, None
        self.next, self.wheel.free = self.wheel.free, self
        return limit is not None and limit.end(error)


class Wheel:
    """The running attempts of one loop that share one limit.

    Compiled wrappers take and leave places themselves; an attempt of a task that was
    being cancelled before uses a ``Limit`` of its own instead.

    Attributes:
        limit: seconds that each of its attempts may take.
        loop: the event loop while a look is scheduled there, else None.
        free: the place to take next; others hang on it.
        turn: which of the looks that were scheduled is the one to make.
    """

    __slots__ = ("_late", "_places", "free", "limit", "loop", "turn")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._late = lateness(limit) * 0.5
        self._places: list[Place] = []
        self.loop: AbstractEventLoop | None = None
        self.free: Place | None = None
        self.turn = 0

    def more(self) -> Place:
        """One more free place."""
        place = Place(self)
        self._places.append(place)
        place.next, self.free = self.free, place
        return place

    def take(self, task: Task[Any], due: float) -> Place:
        """The place of an attempt that begins now."""
        place = self.free or self.more()
        self.free = place.next
        place.task, place.due = task, due
        return place

    @property
    def running(self) -> list[Place]:
        """The places that are taken."""
        return [place for place in self._places if place.task is not None]

    def start(self, loop: AbstractEventLoop) -> None:
        """Schedule the first look; everything is armed later than now."""
        self.loop = loop
        self._schedule(loop, self.limit)

    def _schedule(self, loop: AbstractEventLoop, delay: float) -> None:
        self.turn += 1
        delay = delay + self._late if CLOCK.real else POLL
        loop.call_later(delay, _Look(self, self.turn))

    def hurry(self) -> None:
        """Look at once, from whatever thread this is: the clock is another one."""
        loop = self.loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(_Look(self))

    def look(self) -> None:
        """Fire what is due, and schedule the next look or retire."""
        loop, now, running = self.loop, CLOCK.now(), self.running
        if loop is None:
            return
        if not running:
            self.retire()
            return
        if len(self._places) > _IDLE + 4 * len(running):
            self._places, self.free = running, None
        waiting = [place for place in running if place.limit is None]
        due = [place for place in waiting if place.due <= now]
        left = [place.due for place in waiting if place.due > now]
        for place in sorted(due, key=_due_of):
            if place.task is not None:
                place.limit = Limit(loop, place.task, 0, self.limit, place.due)
                place.limit.fire()
        self._schedule(loop, min(left) - now if left else self.limit)

    def retire(self) -> None:
        """Let go of the loop; the next attempt starts a wheel of its own."""
        loop, self.loop = self.loop, None
        self._places, self.free = [], None
        if loop is not None:
            _WHEELS.pop((loop, self.limit), None)

    def drop(self) -> None:
        """Retire although attempts run: their loop is closed."""
        for place in self._places:
            place.task = place.limit = None
        self.retire()


_IDLE = 64
"""Free places that a wheel keeps at any rate."""


def _due_of(place: Place) -> float:
    return place.due


class _Look:
    """A wheel's place in its loop's schedule.

    Only the loop holds it. A loop that is closed drops its schedule, and with it the
    last reason for the wheel to hold the loop.
    """

    __slots__ = ("_turn", "_wheel")

    def __init__(self, wheel: Wheel, turn: int | None = None) -> None:
        self._wheel: Wheel | None = wheel
        self._turn = turn

    def __call__(self) -> None:
        wheel, self._wheel = self._wheel, None
        if wheel is not None and self._turn in (None, wheel.turn):
            wheel.look()

    def __del__(self) -> None:
        if self._wheel is not None:
            self._wheel.drop()


_WHEELS: dict[tuple[AbstractEventLoop, float], Wheel] = {}


def find_wheel(loop: AbstractEventLoop, limit: float) -> Wheel:
    """The running wheel of ``loop`` for attempts of ``limit`` seconds."""
    wheel = _WHEELS.get((loop, limit))
    if wheel is None:
        wheel = _WHEELS[loop, limit] = Wheel(limit)
        wheel.start(loop)
    return wheel


def _hurry_all() -> None:
    for wheel in list(_WHEELS.values()):
        wheel.hurry()


CLOCK.swapped = _hurry_all
