"""Worker threads for sync attempts with a time limit.

Threads are daemons, reused, and at most ``size`` for each policy. Python cannot stop a
running call: one that exceeds its limit is left behind and its thread, its slot and its
place here stay taken until it ends. A call that no thread has picked up by then never
starts.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import deque
from contextvars import copy_context

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.contexts import adopt
from policyctl.runtime.discarded import drop
from policyctl.runtime.errors import NoThreadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from threading import Thread
    from typing import Any

IDLE = 10.0
"""Seconds that a thread without work stays."""
POLL = 0.002
"""Seconds between looks at a clock that was swapped for a test's."""

_PENDING = 0
_RUNNING = 1
_DONE = 2
_ABANDONED = 3


class Job:
    """One call on its way to a thread and back."""

    __slots__ = (
        "_context",
        "_done",
        "_function",
        "_lock",
        "_state",
        "error",
        "left_behind",
        "result",
    )

    def __init__(
        self, function: Callable[[], Any], left_behind: Callable[[], object]
    ) -> None:
        """``left_behind`` is called by the thread when an abandoned call has ended."""
        self._function: Callable[[], Any] | None = function
        self._context: Context | None = copy_context()
        self._lock = allocate_lock()
        self._done = allocate_lock()
        self._done.acquire()
        self._state = _PENDING
        self.left_behind = left_behind
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Make the call unless nobody wants it any more; in the worker's thread."""
        with self._lock:
            if self._state != _PENDING:
                return
            self._state = _RUNNING
        function, context = self._function, self._context
        self._function = self._context = None
        assert function is not None
        assert context is not None
        result = error = None
        try:
            result = context.run(function)
        except BaseException as caught:
            error = caught
        del function
        with self._lock:
            wanted = self._state == _RUNNING
            if wanted:
                self.result, self.error = result, error
                self._context = context
                self._state = _DONE
        del context
        if wanted:
            del result, error
            self._done.release()
        else:
            if error is None or isinstance(error, Exception):
                drop(error, result)
            del result, error
            self.left_behind()

    def wait(self, until: float) -> bool:
        """Block until the call has ended or ``until``; whether it has ended."""
        while True:
            left = until - CLOCK.now()
            if left <= 0:
                return False
            if self._done.acquire(timeout=min(left, 3600.0 if CLOCK.real else POLL)):
                return True

    def take(self) -> tuple[Any, BaseException | None]:
        """What the call returned or raised; the job forgets it.

        Context variables that the call has set are set here too, as if it had been made
        in this thread.
        """
        outcome, context = (self.result, self.error), self._context
        self.result = self.error = self._context = None
        if context is not None:
            adopt(context)
        return outcome

    def abandon(self) -> bool | None:
        """Give up on the call.

        Returns:
            None if it has ended in this instant after all, else whether it runs on.
        """
        with self._lock:
            if self._state == _DONE:
                return None
            running = self._state == _RUNNING
            self._state = _ABANDONED
        if not running:
            self._function = self._context = None
        return running


def started(thread: Thread) -> bool:
    """Start a thread; False where the system has none left, or the process is ending.

    For threads of our own beside calls, whose work can wait for the next occasion.
    """
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class Workers:
    """The threads of one policy.

    Attributes:
        size: most threads at once.
        abandoned: calls that exceeded their limit and still run.
    """

    __slots__ = ("_idle", "_lock", "_name", "_threads", "_waiting", "abandoned", "size")

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self.size = size
        self.after_fork()

    def after_fork(self) -> None:
        """Start anew: a child process has no threads."""
        self._lock = allocate_lock()
        self._idle: list[_Worker] = []
        self._waiting: deque[Job] = deque()
        self._threads = 0
        self.abandoned = 0

    def submit(self, job: Job) -> None:
        """Hand the job to an idle thread, a new one, or the queue for the next free.

        Raises:
            NoThreadError: a new thread is needed and cannot be started.
        """
        with self._lock:
            if self._idle:
                worker = self._idle.pop()
                worker.job = job
                worker.ready.release()
                return
            if self._threads >= self.size:
                self._waiting.append(job)
                return
            self._threads += 1
        try:
            _Worker(self, job).start(self._name)
        except BaseException as error:
            with self._lock:
                self._threads -= 1
                running = self._threads
            if not isinstance(error, RuntimeError):
                raise
            service, _, operation = self._name.partition(".")
            raise NoThreadError(service, operation, running, str(error)) from None

    def next_job(self, worker: _Worker) -> Job | None:
        """What the worker does next; None if it is to wait."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._idle.append(worker)
            return None

    def retire(self, worker: _Worker) -> bool:
        """Let an idle thread end, unless it was given work in this instant."""
        with self._lock:
            if worker not in self._idle:
                return False
            self._idle.remove(worker)
            self._threads -= 1
            return True

    def drop(self, job: Job) -> None:
        """Forget a job that no thread has picked up."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)

    def count_abandoned(self, change: int) -> None:
        """Keep the gauge of calls that run on although nobody waits for them."""
        with self._lock:
            self.abandoned += change


class _Worker:
    """One thread and the job it was handed."""

    __slots__ = ("_owner", "job", "ready")

    def __init__(self, owner: Workers, job: Job) -> None:
        self._owner = owner
        self.job: Job | None = job
        self.ready = allocate_lock()
        self.ready.acquire()

    def start(self, name: str) -> None:
        """Start the thread."""
        from threading import Thread

        Thread(target=self._loop, name=f"policyctl {name}", daemon=True).start()

    def _loop(self) -> None:
        owner = self._owner
        job, self.job = self.job, None
        while True:
            if job is not None:
                job.run()
                job = None
            job = owner.next_job(self)
            while job is None:
                if self.ready.acquire(timeout=IDLE):
                    job, self.job = self.job, None
                elif owner.retire(self):
                    return
