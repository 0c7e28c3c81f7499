"""A bounded queue of typed items, in sync and async form."""

from __future__ import annotations

from _thread import RLock
from typing import Any, TypeVar

from policyctl.runtime.chance import RANDOM
from policyctl.runtime.queues import live
from policyctl.runtime.queues.dead_letters import DeadLetters
from policyctl.runtime.queues.overrides import overridden
from policyctl.runtime.queues.putting import Putting
from policyctl.runtime.queues.settings import (
    Consume,
    DeadLetter,
    QueueSettings,
    Redelivery,
    Redis,
    Sqlite,
    Upload,
)
from policyctl.runtime.queues.taking import Taking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Literal, TypeAlias

    from policyctl.runtime.chance import Chance
    from policyctl.runtime.queues.async_worker import AsyncWorker
    from policyctl.runtime.queues.codec import Codec
    from policyctl.runtime.queues.worker import Worker

    JsonObject: TypeAlias = Mapping[str, object]
else:
    JsonObject = Any

T = TypeVar("T")


class Queue(Putting[T], Taking[T], DeadLetters[T]):
    """One queue; threads, tasks and processes may use it at once.

    A queue with a name is one live object: making it again with the same settings gives
    the object that is there. Nothing is opened before the first operation.

    Every operation may raise ``StoreUnavailableError``; then it was not done, or, for a
    server whose answer was lost, may have been. A repeated put with the same ``id``
    makes no second item.

    Attributes:
        service: the service's name.
        queue: the queue's name.
        settings: its settings, after overrides.

    Raises:
        PolicyConfigError: settings that are wrong or at odds with a live queue.
    """

    def __new__(
        cls,
        *,
        service: str,
        queue: str,
        store: Sqlite | Redis,
        max_size: int,
        payload: str | type[T] | None = None,
        codec: str | Codec = "json",
        max_bytes: int | None = None,
        max_age: float | None = None,
        warn_at: float = 0.8,
        overflow: Literal["reject", "dead_letter", "drop_oldest"] = "reject",
        lease: float = 30.0,
        max_deliveries: int | None = 5,
        redelivery: Redelivery = Redelivery(),  # noqa: B008 - immutable
        dead_letter: DeadLetter | None = DeadLetter(),  # noqa: B008 - immutable
        order_by: str | None = None,
        consume: Consume | None = None,
        upload: Upload | None = None,
        random: Chance = RANDOM,
    ) -> Queue[T]:
        """Find or make the queue; ``random`` spreads delays and can be seeded."""
        declared = QueueSettings(
            store=store,
            max_size=max_size,
            payload=payload,
            codec=codec,
            max_bytes=max_bytes,
            max_age=max_age,
            warn_at=warn_at,
            overflow=overflow,
            lease=lease,
            max_deliveries=max_deliveries,
            redelivery=redelivery,
            dead_letter=dead_letter,
            order_by=order_by,
            consume=consume,
            upload=upload,
        )

        def make() -> Queue[T]:
            made = object.__new__(cls)
            made.service, made.queue = service, queue
            made.settings = overridden(service, queue, declared)
            made._random = random
            made._store = None
            made._codec = None
            made.after_fork()
            return made

        return live.claim(f"{service}.{queue}", declared, make)

    def worker(
        self, handler: Callable[[T], object] | Callable[[list[T]], object] | None = None
    ) -> Worker:
        """A worker in threads for what ``consume`` or ``upload`` says; not started.

        Args:
            handler: takes a payload (``consume``) or a list of payloads (``upload``),
                and is called under the policy of the named operation; None is the
                function that the operation guards.

        Raises:
            PolicyConfigError: the queue has no worker, or its operation does not fit.
        """
        from policyctl.runtime.queues.worker import Worker

        return Worker(self, handler)

    def aworker(
        self,
        handler: (
            Callable[[T], Awaitable[object]]
            | Callable[[list[T]], Awaitable[object]]
            | None
        ) = None,
    ) -> AsyncWorker:
        """A worker in tasks, for async handlers; else as ``worker``."""
        from policyctl.runtime.queues.async_worker import AsyncWorker

        return AsyncWorker(self, handler)

    def after_fork(self) -> None:
        """In a child process: a fresh lock; stores look after themselves."""
        self._lock = RLock()


if TYPE_CHECKING:
    JsonQueue: TypeAlias = Queue[JsonObject]
else:
    JsonQueue = Queue
