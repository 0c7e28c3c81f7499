"""The bulkhead's slow side: the queue of those who wait for a slot.

Slots are counted by ``Gate.count``. Waiters are served first in, first out, across
threads, tasks and event loops; while there are any, the gate is flagged and nobody
passes them. Spare slots are always computed from the limit and the count, never handed
on by number, so that a changed limit cannot over-grant.
"""

from __future__ import annotations

from _thread import allocate_lock

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.gate import HAS_GIL, UNUSUAL, Gate, later_if_mine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from policyctl.runtime.breaker import Breaker
    from policyctl.runtime.settings import Bulkhead

WAITING = 0
GRANTED = 1
TURNED_AWAY = 2
TIMED_OUT = 3
QUEUE_FULL = 4
STALE = 5
"""The breaker moved between admission and queueing; ask it again."""

POLL = 0.002
"""Seconds between looks at a clock that was swapped for a test's."""


class Waiter:
    """One who waits; ``state`` changes once, under the gate's lock.

    Attributes:
        state: ``WAITING`` until it was decided.
        breaker: the breaker that admitted the attempt, None without one.
        episode: the episode of that admission.
    """

    __slots__ = ("breaker", "episode", "state")

    def __init__(self, breaker: Breaker | None, episode: int) -> None:
        self.state = WAITING
        self.breaker = breaker
        self.episode = episode

    def wake(self) -> bool:
        """Tell the waiter to look at its state; False if nobody is there any more."""
        raise TypeError(f"{type(self).__name__} cannot be woken")


class ThreadWaiter(Waiter):
    """A blocked thread."""

    __slots__ = ("lock",)

    def __init__(self, breaker: Breaker | None, episode: int) -> None:
        super().__init__(breaker, episode)
        self.lock = allocate_lock()
        self.lock.acquire()

    def wake(self) -> bool:
        """Let the thread go on."""
        self.lock.release()
        return True

    def wait(self, until: float) -> None:
        """Block until woken or until ``until`` on the clock."""
        while True:
            left = until - CLOCK.now()
            if left <= 0:
                return
            if self.lock.acquire(timeout=min(left, 3600.0 if CLOCK.real else POLL)):
                return


class TaskWaiter(Waiter):
    """A suspended task of some event loop."""

    __slots__ = ("future", "loop")

    def __init__(
        self, breaker: Breaker | None, episode: int, loop: AbstractEventLoop
    ) -> None:
        super().__init__(breaker, episode)
        self.loop = loop
        self.future: Future[None] = loop.create_future()

    def wake(self) -> bool:
        """Schedule the task, from whatever thread this is."""
        from asyncio import _get_running_loop

        if _get_running_loop() is self.loop:
            self._finish()
            return True
        try:
            self.loop.call_soon_threadsafe(self._finish)
        except RuntimeError:  # its loop is closed
            return False
        return True

    def _finish(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


_NOBODY: list[Waiter] = []
"""The queue before somebody had to wait."""


class Waiters:
    """The queue in front of one gate, and the limit behind it."""

    __slots__ = ("gate", "max_concurrent", "queue", "rejected", "settings")

    def __init__(self, gate: Gate, settings: Bulkhead) -> None:
        self.gate = gate
        self.settings = settings
        self.max_concurrent = settings.max_concurrent
        self.rejected = 0
        self.queue = _NOBODY
        if settings.mode != "disabled":
            gate.limit = settings.max_concurrent
        gate.waiters = self

    # -- entering ----------------------------------------------------------------

    def try_enter(self) -> bool:
        """Take a slot if one is free and nobody waits for it."""
        if not HAS_GIL or self.settings.mode != "enforce":
            return self._try_under_lock()
        c, q, most = self.gate.cell, self.queue, self.max_concurrent
        # One line, so that nobody enters or leaves at the side meanwhile.
        c.cell_contents = (k := (n := c.cell_contents) % UNUSUAL < most and not q) + n
        return k

    def _try_under_lock(self) -> bool:
        gate = self.gate
        with gate.lock:
            gate.add(UNUSUAL)  # nobody enters or leaves at the side meanwhile
            admitted = self.settings.mode != "enforce" or (
                not self.queue and gate.in_use < self.max_concurrent
            )
            if self.settings.mode == "observe" and gate.in_use >= self.max_concurrent:
                self.rejected += 1
            gate.add(admitted - UNUSUAL)
        return admitted

    def join(self, waiter: Waiter) -> int:
        """Queue up, or take a slot that just came free.

        Returns:
            ``WAITING`` (look at the waiter's state), ``QUEUE_FULL`` or ``STALE``.
        """
        breaker = waiter.breaker
        if breaker is not None:
            breaker.attach_queue(self)
        with self.gate.lock:
            if breaker is not None and 0 <= waiter.episode != breaker.episode:
                return STALE
            if len(self.queue) >= self.settings.max_queue:
                self.rejected += 1
                return QUEUE_FULL
            if self.queue is _NOBODY:
                self.queue = []
            self.queue.append(waiter)
            if len(self.queue) == 1:
                self.gate.add(UNUSUAL)
            woken = self.serve()
        self.wake(woken)
        return WAITING

    def withdraw(self, waiter: Waiter, state: int = TIMED_OUT) -> bool:
        """Stop waiting; a slot granted meanwhile goes to the next (C20).

        Returns:
            Whether the waiter was still in the queue.
        """
        with self.gate.lock:
            waiting = waiter.state == WAITING
            if waiting:
                waiter.state = state
                self._remove(waiter)
                if state == TIMED_OUT:
                    self.rejected += 1
        return waiting

    def leave(self, waiter: Waiter) -> None:
        """Stop waiting since an exception broke off the wait."""
        if later_if_mine(self.gate.lock, self.leave, waiter):
            return
        if not self.withdraw(waiter) and waiter.state == GRANTED:
            self.release()

    def _remove(self, waiter: Waiter) -> None:
        self.queue.remove(waiter)
        if not self.queue:
            self.gate.add(-UNUSUAL)

    # -- leaving -----------------------------------------------------------------

    def release(self) -> None:
        """Give a slot back and serve who waits."""
        gate = self.gate
        if HAS_GIL and not gate.stale:
            gate.cell.cell_contents -= 1
        else:
            gate.one_out()
        # Who joins from now on sees the spare slot himself.
        if self.queue:
            self.serve_all()

    def serve_all(self) -> None:
        """Grant spare slots and wake who got them; the caller has no lock."""
        if later_if_mine(self.gate.lock, self.serve_all):
            return
        with self.gate.lock:
            woken = self.serve()
        self.wake(woken)

    def serve(self) -> list[Waiter]:
        """Grant spare slots in order, under the lock; the caller wakes who is returned."""
        gate, queue = self.gate, self.queue
        served: list[Waiter] = []
        while queue and gate.in_use < self.max_concurrent:
            waiter = queue[0]
            waiter.state = GRANTED
            served.append(waiter)
            gate.add(1)  # before the queue is empty and others may enter
            del queue[0]
            if not queue:
                gate.add(-UNUSUAL)
        return served

    def wake(self, served: list[Waiter]) -> None:
        """Wake who was granted a slot; what a dead loop was granted goes on."""
        for waiter in served:
            if not waiter.wake():
                self.release()

    def turn_away(self, breaker: Breaker) -> list[Waiter]:
        """Reject whom ``breaker`` admitted; the caller wakes who is returned."""
        with self.gate.lock:
            turned = [waiter for waiter in self.queue if waiter.breaker is breaker]
            for waiter in turned:
                waiter.state = TURNED_AWAY
                self._remove(waiter)
        return turned

    def resize(self, max_concurrent: int) -> None:
        """Change the limit; running attempts keep their slots."""
        with self.gate.lock:
            self.max_concurrent = max_concurrent
            if self.settings.mode != "disabled":
                self.gate.limit = max_concurrent
            woken = self.serve()
        self.wake(woken)

    def after_fork(self) -> None:
        """In a child process: all slots are free and nobody waits."""
        self.gate.after_fork()


def wait_in_thread(waiters: Waiters, waiter: ThreadWaiter, until: float) -> int:
    """Block until a slot is granted; the answer is the waiter's final state."""
    joined = waiters.join(waiter)
    if joined != WAITING:
        return joined
    try:
        waiter.wait(until)
        waiters.withdraw(waiter)
    except BaseException:
        waiters.leave(waiter)
        raise
    return waiter.state


async def wait_in_task(waiters: Waiters, waiter: TaskWaiter, until: float) -> int:
    """Suspend until a slot is granted; the answer is the waiter's final state."""
    joined = waiters.join(waiter)
    if joined != WAITING:
        return joined
    timer = _Timer(waiters, waiter, until)
    try:
        if waiter.state == WAITING:
            await waiter.future
    except BaseException:
        waiters.leave(waiter)
        raise
    finally:
        timer.cancel()
    return waiter.state


class _Timer:
    """Ends a task's wait at an instant of the clock."""

    __slots__ = ("_handle", "_until", "_waiter", "_waiters")

    def __init__(self, waiters: Waiters, waiter: TaskWaiter, until: float) -> None:
        self._waiters, self._waiter, self._until = waiters, waiter, until
        self._arm()

    def _arm(self) -> None:
        left = self._until - CLOCK.now()
        delay = max(0.0, min(left, 3600.0 if CLOCK.real else POLL))
        self._handle = self._waiter.loop.call_later(delay, self._look)

    def _look(self) -> None:
        if self._until > CLOCK.now():
            self._arm()
        elif self._waiters.withdraw(self._waiter):
            self._waiter.wake()

    def cancel(self) -> None:
        """Forget the wait."""
        self._handle.cancel()
        del self._waiters, self._waiter
