"""One integer that tells whether anything stands in the way of an attempt.

``Gate.count`` is the number of attempts inside plus ``UNUSUAL`` for each reason to look
closer: a breaker that is not quietly closed, waiters, an observer. One comparison with
``Gate.limit`` on the way in and one with ``UNUSUAL`` on the way out thus cover breaker,
half-open permits and bulkhead; everything else is on slow paths under ``Gate.lock``.

The number lives in a closure cell that all compiled wrappers share, since the
interpreter reads and writes a variable of its own faster than an attribute.

On builds with the GIL a statement such as ``n = count; count = n + 1`` on one line,
without a call in it, cannot be interrupted: the interpreter switches threads, runs
signal handlers and traces only at calls, at jumps back and at new lines. Compiled
wrappers use that, and ``Gate`` and ``Waiters`` do; ``tests/runtime/test_gate.py`` holds
it against the bytecode. Where the GIL is absent they take the lock instead.
"""

from __future__ import annotations

import sys
from _thread import RLock, start_new_thread
from types import CellType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.breaker import Breaker
    from policyctl.runtime.bulkhead import Waiters

UNUSUAL = 1 << 26
"""Added to ``Gate.count`` for each reason to take the slow path.

Small enough for sums of it to be one-digit integers, which the interpreter compares and
adds fastest, and larger than any number of attempts at once.
"""

HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()


def later_if_mine(lock: object, do: Callable[..., object], *args: object) -> bool:
    """Whether this thread holds ``lock``; then another one will call ``do(*args)``.

    So it is where the garbage collector closes a coroutine in the middle of our work:
    what was begun has to end before slots and permits are returned.
    """
    held: Any = lock
    if not held._is_owned():
        return False
    start_new_thread(do, args)
    return True


class Gate:
    """Attempts inside, the limit on them, and the breaker's episode.

    Attributes:
        cell: holds ``count``; wrappers have it in their closure.
        limit: what ``count`` must be below for an attempt to pass at once;
            ``UNUSUAL`` where there is no bulkhead.
        episode: the breaker's current episode (C8), 0 without a breaker.
        lock: guards changes of state, never user code.
        breaker: the circuit breaker whose state this gate follows.
        stale: attempts of the parent process that may still end in this one.
        waiters: who waits for a slot.
    """

    __slots__ = ("breaker", "cell", "episode", "limit", "lock", "stale", "waiters")

    def __init__(self) -> None:
        self.cell = CellType(0)
        self.limit = UNUSUAL
        self.episode = 0
        self.stale = 0
        self.lock = RLock()
        self.breaker: Breaker | None = None
        self.waiters: Waiters | None = None

    @property
    def count(self) -> int:
        """Attempts inside plus ``UNUSUAL`` times the reasons to look closer."""
        count: int = self.cell.cell_contents
        return count

    def add(self, change: int) -> None:
        """Change the count in one step; the caller holds the lock."""
        self.cell.cell_contents += change

    @property
    def in_use(self) -> int:
        """Attempts inside."""
        return self.count % UNUSUAL

    def leave(self) -> None:
        """Count one attempt out; the caller holds the lock."""
        if self.cell.cell_contents % UNUSUAL:
            self.cell.cell_contents -= 1
        elif self.stale:
            self.stale -= 1
            if not self.stale:
                self.add(-UNUSUAL)

    def flag(self, change: int, episode: int) -> None:
        """Take over the breaker's ``episode`` while flagged; the caller has no lock."""
        if not HAS_GIL:
            self.lock.acquire()
        if change > 0:
            self.cell.cell_contents += change
        self.episode = episode
        if change < 0:
            self.cell.cell_contents += change
        if not HAS_GIL:
            self.lock.release()

    def one_in(self) -> None:
        """Count one attempt in that nothing holds back; the caller has no lock."""
        if HAS_GIL:
            self.cell.cell_contents += 1
        else:
            with self.lock:
                self.add(1)

    def one_out(self) -> None:
        """Count one attempt out; the caller has no lock."""
        if HAS_GIL and not self.stale:
            self.cell.cell_contents -= 1
        else:
            with self.lock:
                self.leave()

    def after_fork(self) -> None:
        """In a child process: a fresh lock, and none of the parent's attempts inside.

        Those of the forking thread may still end here. The gate stays flagged for as
        long as there may be any, because only the slow side does not count below zero.
        """
        self.lock = RLock()
        inside = self.count % UNUSUAL
        waiting = False
        if self.waiters is not None and self.waiters.queue:
            waiting = True
            self.waiters.queue = []
        flagged = inside > 0 and not self.stale
        self.stale += inside
        self.add((flagged - waiting) * UNUSUAL - inside)
