"""Keeps forks out of the middle of a library's work.

SQLite has locks of its own in C. A child that is forked while another thread holds one
finds it locked for ever. So a fork waits, for a bounded time, until no thread is inside.
"""

from __future__ import annotations

import os
from threading import Condition
from types import TracebackType
from typing import Final

LONGEST: Final = 15.0
"""Seconds that a fork waits; longer than a transaction waits for others."""


class ForkGate:
    """``with gate:`` around what a fork must not interrupt; threads do not exclude each other."""

    __slots__ = ("_condition", "_forking", "_inside")

    def __init__(self) -> None:
        self.after_in_child()

    def __enter__(self) -> None:
        with self._condition:
            while self._forking:
                self._condition.wait()
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._condition:
            self._inside -= 1
            if self._forking and not self._inside:
                self._condition.notify_all()

    def enter_if_open(self) -> bool:
        """Go in unless a fork is about to happen; for what must not wait for it.

        A finalizer may run in the very thread that is about to fork.
        """
        with self._condition:
            if self._forking:
                return False
            self._inside += 1
            return True

    def before(self) -> None:
        """Let nobody in and wait until all are out; the fork comes next."""
        self._condition.acquire()
        self._forking = True
        self._condition.wait_for(lambda: not self._inside, LONGEST)

    def after_in_parent(self) -> None:
        """Let everybody in again."""
        self._forking = False
        self._condition.notify_all()
        self._condition.release()

    def after_in_child(self) -> None:
        """Start anew: nobody is inside."""
        self._condition = Condition()
        self._forking = False
        self._inside = 0


GATE = ForkGate()
"""The gate of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=GATE.before,
        after_in_parent=GATE.after_in_parent,
        after_in_child=GATE.after_in_child,
    )
