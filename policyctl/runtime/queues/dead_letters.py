"""The dead letters of a queue, and its numbers."""

from __future__ import annotations

from typing import TypeVar, cast

from policyctl.runtime.queues.base import QueueBase
from policyctl.runtime.queues.item import DeadLetterItem
from policyctl.runtime.queues.report import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policyctl.runtime.queues.records import Dead, Stats

T = TypeVar("T")

PART = 500
"""Dead letters that one step reads, moves or deletes."""


class DeadLetters(QueueBase[T]):
    """The side of those who look after a queue."""

    def stats(self) -> Stats:
        """The queue in numbers."""
        return self.store.stats()

    async def astats(self) -> Stats:
        """``stats`` without blocking the event loop."""
        return cast("Stats", await self.store.run("stats"))

    def dead_letters(
        self, count: int = 100, *, after: int = 0
    ) -> list[DeadLetterItem[T]]:
        """Up to ``count`` dead letters, oldest first, behind the cursor ``after``."""
        return [self._dead(dead) for dead in self.store.dead(count, after)]

    def all_dead_letters(self) -> Iterator[DeadLetterItem[T]]:
        """Every dead letter, oldest first, read in parts."""
        after = 0
        while part := self.dead_letters(PART, after=after):
            yield from part
            after = part[-1].cursor

    def dead_letter(self, id: str) -> DeadLetterItem[T] | None:
        """The dead letter of that id, or None."""
        found = self.store.find_dead(id)
        return None if found is None else self._dead(found)

    async def adead_letters(
        self, count: int = 100, *, after: int = 0
    ) -> list[DeadLetterItem[T]]:
        """``dead_letters`` without blocking the event loop."""
        found = await self.store.run("dead", count, after)
        return [self._dead(dead) for dead in cast("list[Dead]", found)]

    async def adead_letter(self, id: str) -> DeadLetterItem[T] | None:
        """``dead_letter`` without blocking the event loop."""
        found = cast("Dead | None", await self.store.run("find_dead", id))
        return None if found is None else self._dead(found)

    def _dead(self, dead: Dead) -> DeadLetterItem[T]:
        try:
            payload = self.codec.decode(dead.body)
        except Exception:
            payload = None
        return DeadLetterItem(dead, payload)

    def redrive(self, ids: Sequence[str] | None = None) -> int:
        """Put dead letters back into the queue, oldest first, as far as they fit.

        Their deliveries start at 0 again and their age too; their history is kept.

        Args:
            ids: which ones; None is all that are there now.

        Returns:
            How many were put back.
        """
        return sum(self._in_parts("redrive", ids))

    def purge(self, ids: Sequence[str] | None = None) -> int:
        """Delete dead letters for good; how many there were. ``ids`` as in redrive."""
        return sum(self._in_parts("purge", ids))

    def _in_parts(self, step: str, ids: Sequence[str] | None) -> Iterator[int]:
        left = self.stats().dead if ids is None else len(ids)
        names = None if ids is None else [*ids]
        while left > 0:
            part = min(PART, left)
            change = self._change()
            some = None if names is None else names[:part]
            done: int = getattr(self.store, step)(some, part, change)
            report(self, change)
            yield done
            left -= part
            if names is not None:
                names = names[part:]
            elif done < part:
                return

    async def aredrive(self, ids: Sequence[str] | None = None) -> int:
        """``redrive`` without blocking the event loop."""
        return await self._ain_parts("redrive", ids)

    async def apurge(self, ids: Sequence[str] | None = None) -> int:
        """``purge`` without blocking the event loop."""
        return await self._ain_parts("purge", ids)

    async def _ain_parts(self, step: str, ids: Sequence[str] | None) -> int:
        left = (await self.astats()).dead if ids is None else len(ids)
        names = None if ids is None else [*ids]
        total = 0
        while left > 0:
            part = min(PART, left)
            some = None if names is None else names[:part]
            done = cast("int", await self._astep(step, some, part))
            total += done
            left -= part
            if names is not None:
                names = names[part:]
            elif done < part:
                break
        return total

    def close(self) -> None:
        """Let go of connections; the next operation opens new ones."""
        if self._store is not None:
            self._store.close()
