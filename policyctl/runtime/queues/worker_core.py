"""What workers in threads and in tasks share: settings, numbers, pauses."""

from __future__ import annotations

from threading import Lock
from typing import Any

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.hints import retry_hint
from policyctl.runtime.queues.handler import Handler
from policyctl.runtime.queues.item import Item
from policyctl.runtime.queues.pace import Pace
from policyctl.runtime.queues.plan import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.queues.queue import Queue

DRAIN = 10.0
"""Seconds that a stopping worker of ``consume`` waits for handlers that are running."""


class WorkerCore:
    """A worker without its threads or tasks.

    Args:
        queue: whose items.
        handler: takes a payload (``consume``) or a list of them (``upload``); None is
            the function that the operation guards.

    Attributes:
        handled: items that were acknowledged.
        failed: items that were given back for a failure of their own.

    Raises:
        PolicyConfigError: the queue has no worker, or its operation does not fit.
    """

    asynchronous = False

    def __init__(
        self, queue: Queue[Any], handler: Callable[[Any], Any] | None = None
    ) -> None:
        settings = queue.settings
        upload, consume = settings.upload, settings.consume
        block = upload or consume
        if block is None:
            raise _wrong(
                queue,
                "this queue has no worker",
                "add consume or upload to it in the policy",
            )
        self.queue = queue
        self.handler = Handler(queue, block.operation, handler)
        self._check_form()
        self.in_batches = upload is not None
        self.concurrency = 1 if consume is None else consume.concurrency
        self.drain = DRAIN if upload is None else upload.drain
        self.pace = Pace(
            1 if upload is None else upload.batch,
            0.0 if upload is None else upload.interval,
            settings.redelivery,
            queue._random,
        )
        self.handled = 0
        self.failed = 0
        self._resume_at = 0.0
        self._until = 0.0
        self._held: set[Item[Any]] = set()
        self._lock = Lock()

    def _check_form(self) -> None:
        if self.handler.asynchronous != self.asynchronous:
            kind = "a coroutine function" if self.handler.asynchronous else "not async"
            use = "aworker()" if self.handler.asynchronous else "worker()"
            raise _wrong(self.queue, f"the handler is {kind}", f"use {use} with it")

    def worked(self, outage: BaseException | None, *, more: bool) -> float:
        """Seconds to wait after a step."""
        with self._lock:
            if outage is None:
                return self.pace.succeeded(more=more or not self.in_batches)
            pause = self.pace.failed(retry_hint(outage))
            self._resume_at = CLOCK.now() + pause
        self._say("worker_paused", outage, seconds=pause)
        return pause

    def troubled(self, error: Exception) -> float:
        """Seconds to wait after the store failed."""
        with self._lock:
            pause = self.pace.failed(None)
            first = self.pace.failures == 1
        if first:
            import logging

            logging.getLogger("policyctl").error(
                "%s: its worker goes on after %.1f s: %r", self.queue.name, pause, error
            )
        self._say("worker_failed", error, seconds=pause)
        return pause

    def _say(self, kind: str, error: BaseException, **data: Any) -> None:
        if EVENTS.listeners:
            queue = self.queue
            EVENTS.emit(kind, queue.service, queue.queue, error=error, **data)

    def argument(self, step: Step) -> Any:
        """What the handler is called with."""
        payloads = [item.payload for item in step.items]
        return payloads if self.in_batches else payloads[0]

    def count(self, step: Step, done: list[bool]) -> None:
        """Keep the numbers."""
        if step.kind == "ack":
            self.handled += sum(done)
        else:
            self.failed += sum(done)

    def away(self, step: Step) -> float:
        """Seconds that released items stay away."""
        return self.pace.aside() if step.aside else 0.0


def _wrong(queue: Queue[Any], message: str, help: str) -> PolicyConfigError:
    return PolicyConfigError(
        message, help=help, service=queue.service, operation=queue.queue
    )
