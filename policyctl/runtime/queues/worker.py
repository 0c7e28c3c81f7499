"""Workers in threads that hand the items of a queue to an operation (C35)."""

from __future__ import annotations

import os
from functools import cache
from threading import Event, Lock, Thread
from typing import Any
from weakref import WeakSet

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.queues.item import Item
from policyctl.runtime.queues.plan import Step, work_off
from policyctl.runtime.queues.worker_core import WorkerCore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from policyctl.runtime.queues.queue import Queue

_workers: WeakSet[Worker] = WeakSet()


class Worker(WorkerCore):
    """Hands items to the operation that ``consume`` or ``upload`` names, in threads.

    ``start`` runs it, ``stop`` ends it; ``with worker:`` does both. In a child process a
    started worker starts anew. Arguments and errors are those of ``WorkerCore``.
    """

    def __init__(
        self, queue: Queue[Any], handler: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(queue, handler)
        self._threads: list[Thread] = []
        self.after_fork()
        _workers.add(self)

    def after_fork(self) -> None:
        """In a child process: no threads; start them again if there were any."""
        started = bool(self._threads)
        self._lock = Lock()
        self._stopping = Event()
        self._threads = []
        self._held = set()
        if started:
            self.start()

    # -- threads ---------------------------------------------------------------------

    def start(self) -> Self:
        """Start the threads; does nothing if they run."""
        self.queue.prepare()
        _register_at_fork()
        with self._lock:
            if self._threads:
                return self
            self._stopping.clear()
            targets = [self._loop] * self.concurrency + [self._keep_leases]
            name = f"policyctl {self.queue.name}"
            self._threads = [
                Thread(target=target, name=name, daemon=True) for target in targets
            ]
            for thread in self._threads:
                thread.start()
        return self

    def stop(self, timeout: float | None = None) -> bool:
        """End the worker; whether everything came to its end in time.

        An upload worker goes on sending what is there; a consume worker finishes what
        it has begun. What is still leased then comes back when its lease is over.

        Args:
            timeout: seconds for that; ``drain`` by default.
        """
        drain = self.drain if timeout is None else timeout
        self._until = CLOCK.now() + drain
        self._stopping.set()
        threads = self._threads
        deadline = self._until + 0.5
        for thread in threads:
            thread.join(max(0.0, deadline - CLOCK.now()))
        ended = not any(thread.is_alive() for thread in threads)
        self._threads = []
        return ended and not (self.in_batches and self.queue.stats().ready)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether its threads are there."""
        return any(thread.is_alive() for thread in self._threads)

    def _loop(self) -> None:
        self._wait(self.pace.first())
        while not self._stopping.is_set():
            self._wait(self._guarded_step())
        if self.in_batches:
            self._drain()

    def _guarded_step(self) -> float:
        """One step; a store that is away is an outage as well."""
        try:
            return self.step()
        except Exception as error:
            return self.troubled(error)

    def _drain(self) -> None:
        while CLOCK.now() < self._until and self._drain_step():
            pass

    def _drain_step(self) -> bool:
        """Send one more batch; whether to go on."""
        try:
            items = self.queue.take_many(self.pace.size)
            return bool(items) and self._work(items) is None
        except Exception as error:
            self.troubled(error)
            return False

    def _wait(self, seconds: float) -> None:
        if not CLOCK.real:
            CLOCK.sleep(seconds)
            return
        self._stopping.wait(seconds)

    def _keep_leases(self) -> None:
        """Extend the leases of what is being worked on, three times in each."""
        pause = self.queue.settings.lease / 3
        while True:
            if self._stopping.wait(pause):
                self._keep_while_ending(pause)
                return
            self._extend_held()

    def _keep_while_ending(self, pause: float) -> None:
        while self._held and CLOCK.now() < self._until:
            Event().wait(min(pause, 0.05))
            if CLOCK.real:
                self._extend_held()

    def _extend_held(self) -> None:
        held = list(self._held)
        if held:
            try:
                self.queue.extend_many(held)
            except Exception as error:
                self._say("worker_failed", error)

    # -- one step ----------------------------------------------------------------------

    def step(self) -> float:
        """Take what is next and work it off; seconds to wait before the next step.

        Raises:
            StoreUnavailableError: the queue's store is away.
        """
        left = self._resume_at - CLOCK.now()
        if left > 0:
            return left
        size = self.pace.size
        items = self.queue.take_many(size)
        if not items:
            return self.pace.empty()
        outage = self._work(items)
        return self.worked(outage, more=len(items) == size)

    def _work(self, items: list[Item[Any]]) -> BaseException | None:
        plan = work_off(items, self.handler.blame)
        self._held.update(items)
        try:
            answer: BaseException | None = None
            while True:
                step = plan.send(answer)
                answer = self._do(step)
        except StopIteration as end:
            outage: BaseException | None = end.value
            return outage
        finally:
            self._held.difference_update(items)

    def _do(self, step: Step) -> BaseException | None:
        if step.kind == "call":
            return self.handler.attempt(self.argument(step))
        if step.kind == "ack":
            self.count(step, self.queue.ack_many(step.items))
        elif step.kind == "nack":
            self.count(step, self.queue.nack_many(step.items, step.error))
        else:
            self.queue.nack_many(
                step.items, step.error, delay=self.away(step), counted=False
            )
        self._held.difference_update(step.items)
        return None


def _after_fork_in_child() -> None:
    for worker in list(_workers):
        worker.after_fork()


@cache
def _register_at_fork() -> None:
    """Have workers started anew in a child process.

    Once, when the stores are imported: what they do after a fork then comes before.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork_in_child)
