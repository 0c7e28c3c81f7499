"""Putting items into a queue."""

from __future__ import annotations

from typing import TypeVar

from policyctl.runtime.queues.base import QueueBase
from policyctl.runtime.queues.report import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from policyctl.runtime.queues.records import Change, Entry, Outcome

T = TypeVar("T")


class Put:
    """What became of an item that was put.

    Attributes:
        id: the item's id.
        outcome: ``queued``, ``duplicate`` (an item of that id is known, nothing was
            changed) or ``dead_letter`` (the queue is full, and ``overflow`` says so).
    """

    __slots__ = ("id", "outcome")

    def __init__(self, id: str, outcome: Outcome) -> None:
        self.id = id
        self.outcome = outcome

    def __repr__(self) -> str:
        return f"<{self.outcome} {self.id}>"


class Putting(QueueBase[T]):
    """The side of those who put."""

    def put(self, payload: T, *, id: str | None = None) -> Put:
        """Put one item.

        Args:
            payload: what the queue's ``payload`` says, or a JSON object.
            id: names the item; putting it again, as after an answer that was lost,
                makes no second one for 10 minutes after the first is done.

        Raises:
            QueueFullError: there is no room; the item stays with the caller.
            TypeError, ValueError: the payload cannot be encoded.
        """
        return self.put_many([payload], ids=None if id is None else [id])[0]

    def put_many(
        self, payloads: Iterable[T], *, ids: Sequence[str] | None = None
    ) -> list[Put]:
        """Put items in their order, all of them or none; raises as ``put``."""
        change, entries = self._change(), self._entries(payloads, ids)
        outcomes = self.store.put(entries, change) if entries else []
        return self._were_put(entries, outcomes, change)

    async def aput(self, payload: T, *, id: str | None = None) -> Put:
        """``put`` without blocking the event loop."""
        return (await self.aput_many([payload], ids=None if id is None else [id]))[0]

    async def aput_many(
        self, payloads: Iterable[T], *, ids: Sequence[str] | None = None
    ) -> list[Put]:
        """``put_many`` without blocking the event loop."""
        change, entries = self._change(), self._entries(payloads, ids)
        outcomes: list[Outcome] = (
            await self.store.run("put", entries, change) if entries else []
        )
        return self._were_put(entries, outcomes, change)

    def _entries(self, payloads: Iterable[T], ids: Sequence[str] | None) -> list[Entry]:
        from policyctl.runtime.queues.entries import make_entries

        return make_entries(self.codec, self.settings.order_by, payloads, ids)

    def _were_put(
        self, entries: list[Entry], outcomes: list[Outcome], change: Change
    ) -> list[Put]:
        report(self, change)
        return [
            Put(entry.id, outcome)
            for entry, outcome in zip(entries, outcomes, strict=True)
        ]
