"""The one thread of telemetry: does a few things every few seconds.

It is a daemon and starts with the first guarded call that needs it; a child process
starts its own with its own first call.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from policyctl.runtime.telemetry.trouble import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

NAME = "policyctl-telemetry"


class _Task:
    __slots__ = ("due", "interval", "work")

    def __init__(self, interval: float, work: Callable[[], None]) -> None:
        self.interval = interval
        self.work = work
        self.due = 0.0


class Beat:
    """Tasks by name, each with its interval."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """In a child process: no thread and no task."""
        self._lock = allocate_lock()
        self._tasks: dict[str, _Task] = {}
        self._changed: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def every(self, name: str, interval: float, work: Callable[[], None]) -> None:
        """Do ``work`` now and every ``interval`` seconds, in the thread; once a name."""
        import threading

        with self._lock:
            if name in self._tasks:
                return
            self._tasks[name] = _Task(interval, work)
            if self._changed is None:
                self._changed = threading.Event()
            changed = self._changed
            changed.set()
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, args=(changed,), name=NAME, daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:
                    del self._tasks[name]
                    raise
                self._thread = thread

    def _run(self, changed: threading.Event) -> None:
        while self._changed is changed:
            changed.clear()
            changed.wait(max(0.0, self.work(time.monotonic()) - time.monotonic()))

    def work(self, now: float) -> float:
        """Do what is due at ``now``; when the next is."""
        with self._lock:
            tasks = list(self._tasks.items())
        for name, task in tasks:
            if task.due > now:
                continue
            task.due = now + task.interval
            try:
                task.work()
            except Exception as error:
                report(f"{name} failed", error)
        return min((task.due for _, task in tasks), default=now + 1.0)

    def stop(self) -> None:
        """End the thread, for tests; waits for it."""
        with self._lock:
            thread, changed = self._thread, self._changed
            self._tasks = {}
            self._thread = self._changed = None
        if thread is not None and changed is not None:
            changed.set()
            thread.join(5.0)


BEAT = Beat()
"""The thread of this process, if there is one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BEAT.after_fork)
