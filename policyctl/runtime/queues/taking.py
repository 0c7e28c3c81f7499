"""Taking items from a queue."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.queues.base import FIRST_POLL, LONGEST_POLL
from policyctl.runtime.queues.item import Item
from policyctl.runtime.queues.leases import Leases, reason_of
from policyctl.runtime.queues.report import report
from policyctl.runtime.stores.errors import StoreUnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.queues.records import Taken

T = TypeVar("T")


class Taking(Leases[T]):
    """The side of those who take."""

    def take(
        self, timeout: float = 0.0, *, lease: float | None = None
    ) -> Item[T] | None:
        """Lease the next item; None if there is none within ``timeout`` seconds.

        Args:
            timeout: seconds to wait for one.
            lease: seconds until it comes back by itself; the queue's by default.
        """
        items = self.take_many(1, timeout, lease=lease)
        return items[0] if items else None

    def take_many(
        self, count: int, timeout: float = 0.0, *, lease: float | None = None
    ) -> list[Item[T]]:
        """Lease up to ``count`` items, oldest first; waits for the first one alone.

        With ``order_by`` items of one value come in their order, and may come together:
        stop at the first of them that fails.
        """
        until = CLOCK.now() + timeout
        pause = FIRST_POLL
        while True:
            items = self._take_now(count, lease)
            left = until - CLOCK.now()
            if items or left <= 0:
                return items
            CLOCK.sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_POLL)

    def _take_now(self, count: int, lease: float | None) -> list[Item[T]]:
        while True:
            change = self._change()
            taken = self.store.take(count, lease or self.settings.lease, change)
            report(self, change)
            items, broken = self._decoded(taken)
            try:
                for one, error in broken:
                    change = self._change()
                    self.store.bury(one, "undecodable", error, change)
                    report(self, change)
            except StoreUnavailableError:
                if not items:  # else they are worth more; the others come back
                    raise
            if items or not broken:
                return items

    async def atake(
        self, timeout: float = 0.0, *, lease: float | None = None
    ) -> Item[T] | None:
        """``take`` without blocking the event loop; cancelling it leases nothing."""
        items = await self.atake_many(1, timeout, lease=lease)
        return items[0] if items else None

    async def atake_many(
        self, count: int, timeout: float = 0.0, *, lease: float | None = None
    ) -> list[Item[T]]:
        """``take_many`` without blocking the event loop."""
        until = CLOCK.now() + timeout
        pause = FIRST_POLL
        while True:
            items = await self._atake_now(count, lease)
            left = until - CLOCK.now()
            if items or left <= 0:
                return items
            await CLOCK.async_sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_POLL)

    async def _atake_now(self, count: int, lease: float | None) -> list[Item[T]]:
        while True:
            change = self._change()
            seconds = lease or self.settings.lease
            taken: list[Taken] = await self.store.run("take", count, seconds, change)
            report(self, change)
            items, broken = self._decoded(taken)
            try:
                for one, error in broken:
                    change = self._change()
                    await self.store.run("bury", one, "undecodable", error, change)
                    report(self, change)
            except StoreUnavailableError:
                if not items:
                    raise
            except BaseException:  # the caller has gone away
                self._release_later(taken)
                raise
            if items or not broken:
                return items

    def _release_later(self, taken: list[Taken]) -> None:
        """Give back in a thread what nobody waits for."""
        from policyctl.runtime.queues.offload import in_background
        from policyctl.runtime.queues.records import Back

        backs = [Back(one, counted=False) for one in taken]
        in_background(partial(self.store.nack, backs, self._change()))

    def _decoded(
        self, taken: list[Taken]
    ) -> tuple[list[Item[T]], list[tuple[Taken, str]]]:
        items: list[Item[T]] = []
        broken: list[tuple[Taken, str]] = []
        for one in taken:
            try:
                payload = self.codec.decode(one.body)
            except Exception as error:
                broken.append((one, reason_of(error)))
            else:
                items.append(Item(self, one, payload))
        return items, broken
