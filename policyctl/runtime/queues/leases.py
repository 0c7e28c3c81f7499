"""What ends a lease, or lets it go on."""

from __future__ import annotations

from typing import TypeVar, cast

from policyctl.runtime.queues.base import QueueBase
from policyctl.runtime.queues.delays import redelivery_delay
from policyctl.runtime.queues.item import Item
from policyctl.runtime.queues.report import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from policyctl.runtime.queues.records import Back

T = TypeVar("T")

LONGEST_ERROR = 1000
"""Characters of an error's text that are kept with an item."""


def reason_of(error: BaseException | str) -> str:
    """An error as text that every store can keep, whatever its own text does."""
    text = error
    if isinstance(error, BaseException):
        kind = type(error).__name__
        try:
            text = f"{kind}: {error}"
        except Exception as problem:
            text = f"{kind}, whose text fails with {type(problem).__name__}"
    kept = str(text)[:LONGEST_ERROR]
    # A file's name may hold what UTF-8 cannot carry.
    return kept.encode("utf-8", "backslashreplace").decode("utf-8")


class Leases(QueueBase[T]):
    """The side of those who hold items."""

    def ack(self, item: Item[T]) -> bool:
        """Remove the item for good; False if its lease was lost meanwhile.

        A lease is lost when the item was given to somebody else, which an expired one
        may be at any time.
        """
        return self.ack_many([item])[0]

    def ack_many(self, items: Sequence[Item[T]]) -> list[bool]:
        """``ack`` for several items, in one step."""
        change = self._change()
        done = self.store.ack([item.taken for item in items], change)
        report(self, change)
        return done

    def nack(
        self,
        item: Item[T],
        error: BaseException | str | None = None,
        *,
        delay: float | None = None,
        counted: bool = True,
    ) -> bool:
        """Give the item back; False if its lease was lost meanwhile.

        Args:
            item: what was taken.
            error: why; kept with the item.
            delay: seconds until it is delivered again; by default the redelivery
                back-off.
            counted: whether the delivery counts. After ``max_deliveries`` that do, the
                item becomes a dead letter instead.
        """
        return self.nack_many([item], error, delay=delay, counted=counted)[0]

    def nack_many(
        self,
        items: Sequence[Item[T]],
        error: BaseException | str | None = None,
        *,
        delay: float | None = None,
        counted: bool = True,
    ) -> list[bool]:
        """``nack`` for several items, in one step."""
        change = self._change()
        backs = self._backs(items, error, delay, counted)
        done = self.store.nack(backs, change)
        report(self, change)
        return done

    def _backs(
        self,
        items: Sequence[Item[T]],
        error: BaseException | str | None,
        delay: float | None,
        counted: bool,
    ) -> list[Back]:
        from policyctl.runtime.queues.records import Back

        text = None if error is None else reason_of(error)
        settings, random = self.settings.redelivery, self._random
        return [
            Back(
                item.taken,
                (
                    redelivery_delay(settings, item.deliveries, random)
                    if delay is None
                    else delay
                ),
                text,
                counted,
            )
            for item in items
        ]

    def extend(self, item: Item[T], lease: float | None = None) -> bool:
        """Keep the item for ``lease`` seconds from now; False if the lease was lost."""
        return self.extend_many([item], lease)[0]

    def extend_many(
        self, items: Sequence[Item[T]], lease: float | None = None
    ) -> list[bool]:
        """``extend`` for several items, in one step."""
        seconds = lease or self.settings.lease
        return self.store.extend([item.taken for item in items], seconds)

    def release(self, item: Item[T]) -> bool:
        """Give the item back at once, as if it had not been delivered."""
        return self.release_many([item])[0]

    def release_many(self, items: Sequence[Item[T]]) -> list[bool]:
        """``release`` for several items, in one step."""
        return self.nack_many(items, delay=0.0, counted=False)

    async def aack(self, item: Item[T]) -> bool:
        """``ack`` without blocking the event loop."""
        return (await self.aack_many([item]))[0]

    async def aack_many(self, items: Sequence[Item[T]]) -> list[bool]:
        """``ack_many`` without blocking the event loop."""
        done = await self._astep("ack", [item.taken for item in items])
        return cast("list[bool]", done)

    async def anack(
        self,
        item: Item[T],
        error: BaseException | str | None = None,
        *,
        delay: float | None = None,
        counted: bool = True,
    ) -> bool:
        """``nack`` without blocking the event loop."""
        done = await self.anack_many([item], error, delay=delay, counted=counted)
        return done[0]

    async def anack_many(
        self,
        items: Sequence[Item[T]],
        error: BaseException | str | None = None,
        *,
        delay: float | None = None,
        counted: bool = True,
    ) -> list[bool]:
        """``nack_many`` without blocking the event loop."""
        done = await self._astep("nack", self._backs(items, error, delay, counted))
        return cast("list[bool]", done)

    async def aextend(self, item: Item[T], lease: float | None = None) -> bool:
        """``extend`` without blocking the event loop."""
        return (await self.aextend_many([item], lease))[0]

    async def aextend_many(
        self, items: Sequence[Item[T]], lease: float | None = None
    ) -> list[bool]:
        """``extend_many`` without blocking the event loop."""
        seconds = lease or self.settings.lease
        done: list[bool] = await self.store.run(
            "extend", [item.taken for item in items], seconds
        )
        return done

    async def arelease(self, item: Item[T]) -> bool:
        """``release`` without blocking the event loop."""
        return (await self.arelease_many([item]))[0]

    async def arelease_many(self, items: Sequence[Item[T]]) -> list[bool]:
        """``release_many`` without blocking the event loop."""
        return await self.anack_many(items, delay=0.0, counted=False)
