"""An item that was taken from a queue."""

from __future__ import annotations

from typing import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from policyctl.runtime.queues.leases import Leases
    from policyctl.runtime.queues.records import Dead, Taken

T = TypeVar("T")


class Item(Generic[T]):
    """A payload under a lease.

    ``with item:`` (or ``async with item:``) acknowledges it when the block ends, and
    gives it back when the block raises. Without, say ``ack`` or ``nack``.

    Attributes:
        payload: what was put.
        id: its id, the same on every delivery.
        deliveries: how often it was handed out, this time included.
        put_at: when it was put, in seconds since 1970.
    """

    __slots__ = ("_queue", "deliveries", "id", "payload", "put_at", "taken")

    def __init__(self, queue: Leases[T], taken: Taken, payload: T) -> None:
        self._queue = queue
        self.taken = taken
        self.payload = payload
        self.id = taken.id
        self.deliveries = taken.deliveries
        self.put_at = taken.put_at

    def ack(self) -> bool:
        """Remove the item for good; False if its lease was lost meanwhile."""
        return self._queue.ack(self)

    def nack(
        self, error: BaseException | str | None = None, *, delay: float | None = None
    ) -> bool:
        """Give the item back; see ``Queue.nack``."""
        return self._queue.nack(self, error, delay=delay)

    def extend(self, lease: float | None = None) -> bool:
        """Keep the item for ``lease`` seconds from now; False if the lease was lost."""
        return self._queue.extend(self, lease)

    def release(self) -> bool:
        """Give the item back at once, as if it had not been delivered."""
        return self._queue.release(self)

    async def aack(self) -> bool:
        """``ack`` without blocking the event loop."""
        return await self._queue.aack(self)

    async def anack(
        self, error: BaseException | str | None = None, *, delay: float | None = None
    ) -> bool:
        """``nack`` without blocking the event loop."""
        return await self._queue.anack(self, error, delay=delay)

    async def aextend(self, lease: float | None = None) -> bool:
        """``extend`` without blocking the event loop."""
        return await self._queue.aextend(self, lease)

    async def arelease(self) -> bool:
        """``release`` without blocking the event loop."""
        return await self._queue.arelease(self)

    def __enter__(self) -> T:
        return self.payload

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.ack()
        elif isinstance(error, Exception):
            self.nack(error)
        else:
            self.release()

    async def __aenter__(self) -> T:
        return self.payload

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            await self.aack()
        elif isinstance(error, Exception):
            await self.anack(error)
        else:
            await self.arelease()

    def __repr__(self) -> str:
        return f"<item {self.id} of {self._queue.name}, delivery {self.deliveries}>"


class DeadLetterItem(Generic[T]):
    """A dead letter.

    Attributes:
        payload: what was put; None if it cannot be decoded, see ``error``.
        body: the payload as bytes.
        reason: ``queue_full``, ``max_deliveries``, ``max_age`` or ``undecodable``.
        error: what the last handler said, or None.
        deliveries: how often it was handed out.
        put_at, died_at: seconds since 1970.
        history: earlier deaths of an item that was redriven, oldest first.
        cursor: what ``dead_letters(after=...)`` takes to go on behind this one.
    """

    __slots__ = (
        "body",
        "cursor",
        "deliveries",
        "died_at",
        "error",
        "history",
        "id",
        "payload",
        "put_at",
        "reason",
    )

    def __init__(self, dead: Dead, payload: T | None) -> None:
        self.payload = payload
        self.id = dead.id
        self.body = dead.body
        self.reason = dead.reason
        self.error = dead.error
        self.deliveries = dead.deliveries
        self.put_at = dead.put_at
        self.died_at = dead.died_at
        self.history = dead.history
        self.cursor = dead.cursor

    def __repr__(self) -> str:
        return f"<dead letter {self.id}: {self.reason}>"
