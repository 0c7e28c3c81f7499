"""A queue in an SQLite file, for threads and processes of one machine."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues.records import (
    Back,
    Change,
    Dead,
    Entry,
    Outcome,
    Stats,
    Taken,
)
from policyctl.runtime.queues.settings import QueueSettings
from policyctl.runtime.queues.steps import Row, Steps, Totals, to_dead
from policyctl.runtime.queues.tables import (
    LEASED,
    SCHEMA,
    Statements,
    make_queue,
    statements,
)
from policyctl.runtime.queues.timing import wall
from policyctl.runtime.stores.errors import (
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)
from policyctl.runtime.stores.sqlite import RESERVE_BYTES, Database, free_bytes
from policyctl.runtime.stores.sqlite_read import ReadOnlyDatabase

R = TypeVar("R")

RECLAIM_EVERY = 128
"""Steps that remove items between two looks at the free space of the file."""


class SqliteStore:
    """The ``Store`` of a queue with ``store: sqlite``.

    Args:
        path: the file.
        names: service and queue, for errors; the queue's is its name in the file.
        settings: the queue's limits.
        recovered: called with what became of a damaged file.
        repairs: whether a damaged file is replaced; else it is an error.
        reads: whether the file is only read, and nothing made beside it.
        max_pages: the most pages of the file, for tests of full disks.
    """

    def __init__(
        self,
        path: str,
        names: tuple[str, str],
        settings: QueueSettings,
        recovered: Callable[[dict[str, object]], None],
        *,
        repairs: bool = True,
        reads: bool = False,
        max_pages: int | None = None,
    ) -> None:
        self.settings = settings
        self._names = names
        self._database = (
            ReadOnlyDatabase(path)
            if reads
            else Database(path, SCHEMA, max_pages=max_pages)
        )
        self._recovered = recovered
        self._repairs = repairs
        self._removals = 0
        self._cap: int | None = None

    # -- transactions ----------------------------------------------------------------

    def _write(self, change: Change, work: Callable[[Steps], R]) -> R:
        def run(connection: sqlite3.Connection) -> R:
            fresh = Change()
            steps = Steps(
                connection, self._sql(connection), self.settings, self._names, fresh
            )
            steps.cap = self._cap
            result = work(steps)
            steps.save()
            change.take(fresh)
            return result

        return self._guarded(lambda: self._database.write(run))

    def _read(self, work: Callable[[sqlite3.Connection, Statements], R]) -> R:
        try:
            return self._look(work)
        except StoreFullError as error:  # there is no space to open it
            raise self._away(error) from error

    def _look(self, work: Callable[[sqlite3.Connection, Statements], R]) -> R:
        def run(connection: sqlite3.Connection) -> R | None:
            row = connection.execute(
                "SELECT id FROM queues WHERE name = ?", (self._names[1],)
            ).fetchone()
            return None if row is None else work(connection, statements(row[0]))

        found = self._guarded(lambda: self._database.read(run))
        if found is None:
            self._guarded(lambda: self._database.write(self._sql))
            return self._guarded(lambda: self._database.read(run))  # type: ignore[return-value]
        return found

    def _sql(self, connection: sqlite3.Connection) -> Statements:
        return statements(make_queue(connection, self._names[1]))

    def _guarded(self, run: Callable[[], R]) -> R:
        """Run a transaction; a damaged file is replaced once and it runs again."""
        try:
            try:
                return run()
            except StoreDamagedError as error:
                if not self._repairs:
                    raise
                self._recover(error)
                return run()
        except (sqlite3.Error, StoreDamagedError, OSError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> StoreUnavailableError:
        path = str(self._database.path)
        return StoreUnavailableError(*self._names, path, str(error) or repr(error))

    def _recover(self, error: StoreDamagedError) -> None:
        from policyctl.runtime.queues.recovery import recover

        try:
            report = recover(self._database, str(error))
        except StoreFullError as full:
            raise OSError(f"no space to repair it: {full}") from full
        if report is not None:
            self._recovered(report)

    def _reclaim(self, removed: int) -> None:
        self._removals += removed
        if self._removals >= RECLAIM_EVERY:
            self._removals = 0
            self._give_pages_back()

    def _give_pages_back(self) -> None:
        """Make the file smaller if that is possible now: what was asked for is done."""
        with suppress(StoreFullError, StoreUnavailableError):
            self._guarded(self._database.reclaim)

    # -- the contract of a store -----------------------------------------------------

    def put(self, entries: list[Entry], change: Change) -> list[Outcome]:
        """Put all entries, or none; a full disk is a full queue."""
        if self._cap is not None:
            self._lift_cap()
        # Of several processes, those that start now must not fill what the others drain with.
        if self._database.is_short():
            self._database.empty_log()
        if not self._database.is_short():
            with suppress(StoreFullError):
                return self._write(change, lambda steps: steps.put(entries))
        try:
            return self._put_on_full_disk(entries, change)
        except StoreUnavailableError as error:
            if isinstance(error.__cause__, StoreFullError):
                raise self._disk_full() from None
            raise

    def _disk_full(self) -> QueueFullError:
        size = self._database.disk_bytes()
        return QueueFullError(*self._names, size, size, "bytes on disk")

    def _put_on_full_disk(self, entries: list[Entry], change: Change) -> list[Outcome]:
        """From now on the queue is full at less than it holds, until there is space."""
        self._database.empty_log()
        size = self.stats().bytes
        self._cap = max(size // 2, size - 2 * RESERVE_BYTES)
        needed = sum(len(entry.body) for entry in entries)
        if self.settings.overflow == "drop_oldest" and needed <= self._cap:
            part = Change(size=1)
            while size + needed > self._cap and part.size:
                part = Change()
                size = self._draining(part, lambda steps: steps.drop_some())
                change.dropped += part.dropped
                self._give_pages_back()
        try:
            part = Change()
            outcomes = self._write(part, lambda steps: steps.put(entries))
        except StoreFullError:
            raise self._disk_full() from None
        part.dropped = change.dropped + part.dropped
        change.take(part)
        return outcomes

    def _lift_cap(self) -> None:
        """Forget the full disk once there is space again."""
        database = self._database
        if database.max_pages is None and free_bytes(database.path) > 2 * RESERVE_BYTES:
            self._cap = None

    def take(self, count: int, lease: float, change: Change) -> list[Taken]:
        """Lease up to ``count`` items; nothing is written where there is none."""
        if not self._has_work():
            return []
        receipt = os.urandom(12).hex()
        return self._draining(change, lambda steps: steps.take(count, lease, receipt))

    def _has_work(self) -> bool:
        def look(connection: sqlite3.Connection, sql: Statements) -> bool:
            if connection.execute(sql.any_ready).fetchone() is not None:
                return True
            (due,) = connection.execute(sql.next_due).fetchone()
            if due is None:
                return False
            now = CLOCK.now()
            clock = Totals(connection.execute(sql.totals).fetchone()).clock
            return bool(due <= now or now < clock - 1.0)

        return self._read(look)

    def ack(self, items: list[Taken], change: Change) -> list[bool]:
        """Remove items."""
        done = self._draining(change, lambda steps: [steps.ack(item) for item in items])
        self._reclaim(len(items))
        return done

    def nack(self, items: list[Back], change: Change) -> list[bool]:
        """Give items back, or make them dead letters."""
        return self._draining(
            change, lambda steps: [steps.nack(item) for item in items]
        )

    def extend(self, items: list[Taken], lease: float) -> list[bool]:
        """Let leases end ``lease`` seconds from now."""
        return self._draining(
            Change(), lambda steps: [steps.extend(item, lease) for item in items]
        )

    def bury(self, item: Taken, reason: str, error: str | None, change: Change) -> bool:
        """Make a leased item a dead letter."""
        return self._draining(change, lambda steps: steps.bury(item, reason, error))

    def _draining(self, change: Change, work: Callable[[Steps], R]) -> R:
        """A step that has to be possible on a full disk too: it may use the reserve."""
        try:
            return self._write(change, work)
        except StoreFullError:
            self._database.empty_log()
            self._database.open_reserve()
            self._database.empty_log()
        try:
            return self._write(change, work)
        except StoreFullError as error:
            raise self._away(error) from error

    async def run(self, step: str, *arguments: Any) -> Any:
        """Do a step by its name in a thread.

        A cancelled take gives back what it leased after all.
        """
        from policyctl.runtime.queues.offload import in_thread

        method: Callable[..., Any] = getattr(self, step)
        undo = partial(self._untake, arguments[-1]) if step == "take" else None
        return await in_thread(partial(method, *arguments), undo)

    def _untake(self, change: Change, taken: list[Taken]) -> None:
        if taken:
            self.nack([Back(one, counted=False) for one in taken], change)

    def stats(self) -> Stats:
        """The queue in numbers."""

        def count(connection: sqlite3.Connection, sql: Statements) -> Stats:
            totals = Totals(connection.execute(sql.totals).fetchone())
            later = dict(connection.execute(sql.later, (CLOCK.now(),)).fetchall())
            leased = later.get(LEASED, 0)
            first = connection.execute(sql.first).fetchone()
            return Stats(
                ready=totals.size - leased,
                delayed=sum(later.values()) - leased,
                leased=leased,
                size=totals.size,
                bytes=totals.bytes,
                dead=totals.dead,
                oldest_seconds=0.0 if first is None else max(0.0, wall() - first[0]),
                put=totals.put,
                acked=totals.acked,
                dropped=totals.dropped,
                dead_lettered=totals.dead_lettered,
            )

        return self._read(count)

    def peek(self, count: int) -> list[Taken]:
        """The items that are ready, oldest first, without leasing them."""

        def look(connection: sqlite3.Connection, sql: Statements) -> list[Taken]:
            rows = connection.execute(sql.ready, (0, count)).fetchall()
            return [
                Taken(row.id, row.body, row.lane, "", row.deliveries, row.put_at)
                for row in map(Row._make, rows)
            ]

        return self._read(look)

    def dead(self, count: int, after: int) -> list[Dead]:
        """Dead letters, oldest first."""
        return self._read(
            lambda connection, sql: [
                to_dead(row) for row in connection.execute(sql.dead, (after, count))
            ]
        )

    def find_dead(self, id: str) -> Dead | None:
        """One dead letter."""
        found = self._read(
            lambda connection, sql: [
                to_dead(row) for row in connection.execute(sql.dead_one, (id,))
            ]
        )
        return found[0] if found else None

    def redrive(self, ids: list[str] | None, count: int, change: Change) -> int:
        """Put dead letters back as far as they fit."""
        try:
            return self._write(change, lambda steps: steps.redrive(ids, count))
        except StoreFullError:
            return 0

    def purge(self, ids: list[str] | None, count: int, change: Change) -> int:
        """Delete dead letters."""
        gone = self._draining(change, lambda steps: steps.purge(ids, count))
        self._reclaim(gone)
        return gone

    def close(self) -> None:
        """Close connections."""
        self._database.close()
