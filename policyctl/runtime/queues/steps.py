"""The steps of a queue in SQLite: each runs inside one transaction.

The order of items is their number ``seq``. With ``order_by`` the items of one value form
a lane: only the first of a lane is ready, all behind it are blocked, whatever happens to
the first. Without, every item is free.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues.records import Back, Change, Dead, Entry, Outcome, Taken
from policyctl.runtime.queues.settings import QueueSettings
from policyctl.runtime.queues.tables import (
    BLOCKED,
    DELAYED,
    READY,
    Statements,
)
from policyctl.runtime.queues.timing import wall

SWEEP = 256
"""Expired leases and ended delays that one step returns at most."""
REMEMBER = 600.0
"""Seconds that ids chosen by callers are known after the item is done."""
PARK = 60.0
"""Seconds until an item is tried again for which the dead letters had no room."""


class Row(NamedTuple):
    """An item as it is stored."""

    seq: int
    id: str
    lane: str | None
    deliveries: int
    put_at: float
    keyed: int
    size: int
    error: str | None
    history: str | None
    body: bytes


class Totals:
    """The row of running totals of a queue."""

    __slots__ = (
        "acked",
        "bytes",
        "clock",
        "dead",
        "dead_lettered",
        "dropped",
        "next",
        "put",
        "size",
        "warned",
    )

    def __init__(self, row: tuple[Any, ...]) -> None:
        (
            self.next,
            self.size,
            self.bytes,
            self.dead,
            self.warned,
            self.put,
            self.acked,
            self.dropped,
            self.dead_lettered,
            self.clock,
        ) = row

    def values(self) -> tuple[Any, ...]:
        """The row again."""
        return (
            self.next,
            self.size,
            self.bytes,
            self.dead,
            self.warned,
            self.put,
            self.acked,
            self.dropped,
            self.dead_lettered,
            self.clock,
        )


class Steps:
    """One transaction on one queue."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        sql: Statements,
        settings: QueueSettings,
        names: tuple[str, str],
        change: Change,
    ) -> None:
        self.run = connection.execute
        self.sql = sql
        self.settings = settings
        self.names = names
        self.change = change
        self.cap: int | None = None
        self.now = CLOCK.now()
        self.wall = wall()
        self.totals = Totals(self.run(sql.totals).fetchone())
        if self.now < self.totals.clock - 1.0:
            # The machine was restarted, and with it everybody who held a lease.
            self.run(sql.restarted)
        self.totals.clock = self.now

    def save(self) -> None:
        """Write the totals; the last thing before the commit."""
        totals, change = self.totals, self.change
        above = totals.size >= self.settings.warn_at * self.settings.max_size
        if above != bool(totals.warned):
            totals.warned = int(above)
            change.level = above
        change.size = totals.size
        limits = self.settings
        # Kept beside the items for programs that know the file alone.
        known = (limits.max_size, limits.max_bytes, limits.warn_at)
        self.run(self.sql.save, (*totals.values(), *known))

    # -- put -------------------------------------------------------------------------

    def put(self, entries: list[Entry]) -> list[Outcome]:
        """Put all entries or raise ``QueueFullError``."""
        return [self._put(entry) for entry in entries]

    def _put(self, entry: Entry) -> Outcome:
        known = {"id": entry.id}
        if entry.keyed and self.run(self.sql.is_known, known).fetchone():
            return "duplicate"
        size = len(entry.body)
        lacking = self._lacking(size)
        if lacking is not None and not self._make_room(size):
            return self._overflow(entry, lacking)
        if not self._insert(entry, self.wall, None):
            return "duplicate"
        self.totals.put += 1
        return "queued"

    def _insert(self, entry: Entry, put_at: float, history: str | None) -> bool:
        totals, size = self.totals, len(entry.body)
        state, lane = READY, entry.lane
        if lane is not None and self.run(self.sql.in_lane, (lane,)).fetchone():
            state = BLOCKED
        cursor = self.run(
            self.sql.insert,
            (
                totals.next,
                entry.id,
                state,
                lane,
                put_at,
                entry.keyed,
                size,
                history,
                entry.body,
            ),
        )
        if cursor.rowcount == 0:
            return False
        totals.next += 1
        totals.size += 1
        totals.bytes += size
        return True

    def _lacking(self, size: int) -> QueueFullError | None:
        """The error of an item of ``size`` bytes that does not fit, None if it does."""
        totals, settings = self.totals, self.settings
        if totals.size + 1 > settings.max_size:
            return QueueFullError(*self.names, totals.size, settings.max_size)
        most = settings.max_bytes
        if most is not None and totals.bytes + size > most:
            return QueueFullError(*self.names, totals.bytes, most, "bytes")
        if self.cap is not None and totals.bytes + size > self.cap:
            return QueueFullError(*self.names, totals.bytes, self.cap, "bytes on disk")
        return None

    def _make_room(self, size: int) -> bool:
        """Expire what is too old, then drop the oldest if that is the policy."""
        settings = self.settings
        if settings.max_age is not None:
            self._expire()
            if self._lacking(size) is None:
                return True
        if settings.overflow != "drop_oldest":
            return False
        if settings.max_bytes is not None and size > settings.max_bytes:
            return False
        return self._drop_oldest(size)

    def _drop_oldest(self, size: int) -> bool:
        """Drop until ``size`` bytes fit; after a lowered limit, a bounded part of it."""
        dropped = 0
        while self._lacking(size) is not None and dropped < SWEEP:
            found = self.run(self.sql.oldest, (0,)).fetchone()
            if found is None:
                return False
            self._drop(Row(*found), "overflow")
            dropped += 1
        return True

    def drop_some(self) -> int:
        """Drop some of the oldest items; the bytes that are left."""
        for _ in range(SWEEP):
            found = self.run(self.sql.oldest, (0,)).fetchone()
            if found is None:
                break
            self._drop(Row(*found), "overflow")
        return int(self.totals.bytes)

    def _drop(self, row: Row, reason: str) -> None:
        self._remove(row)
        self.totals.dropped += 1
        self.change.dropped.append((row.id, reason))

    def _expire(self) -> None:
        """Take items that are too old out of the way of new ones."""
        for _ in range(SWEEP):
            found = self.run(self.sql.oldest, (0,)).fetchone()
            if found is None or not self._is_old(Row(*found)):
                return
            if not self._die(Row(*found), "max_age", None):
                return

    def _is_old(self, row: Row) -> bool:
        most = self.settings.max_age
        return most is not None and self.wall - row.put_at > most

    def _overflow(self, entry: Entry, lacking: QueueFullError) -> Outcome:
        dead = self.settings.dead_letter
        if self.settings.overflow != "dead_letter" or dead is None:
            raise lacking
        if self.totals.dead >= dead.max_size:
            full = QueueFullError(
                *self.names, self.totals.dead, dead.max_size, "dead letters"
            )
            raise full
        row = Row(
            0,
            entry.id,
            entry.lane,
            0,
            self.wall,
            int(entry.keyed),
            len(entry.body),
            None,
            None,
            entry.body,
        )
        self._insert_dead(row, "queue_full", None)
        self.totals.put += 1
        return "dead_letter"

    # -- take ------------------------------------------------------------------------

    def take(self, count: int, lease: float, receipt: str) -> list[Taken]:
        """Lease up to ``count`` items, oldest first; lanes give a run of theirs."""
        self.sweep()
        taken: list[Taken] = []
        after = 0
        while len(taken) < count:
            found = self.run(self.sql.ready, (after, count - len(taken))).fetchall()
            if not found:
                break
            for values in found:
                row = Row(*values)
                after = row.seq
                if self._is_old(row):
                    self._die(row, "max_age", None)
                else:
                    taken.append(self._lease(row, lease, receipt))
        for head in tuple(taken) if count > 1 else ():
            if head.lane is not None:
                self._take_run(head, count, lease, receipt, taken)
        return taken

    def _take_run(
        self, head: Taken, count: int, lease: float, receipt: str, taken: list[Taken]
    ) -> None:
        """Lease what follows ``head`` in its lane, as far as that is free."""
        (start,) = self.run(self.sql.head, (head.lane,)).fetchone()
        room = count - len(taken)
        if room <= 0:
            return
        states = self.run(self.sql.behind_state, (head.lane, start, room)).fetchall()
        free = 0
        for _, state, due in states:
            if state != BLOCKED or due > self.now:
                break
            free += 1
        rows = self.run(self.sql.behind, (head.lane, start, free)).fetchall()
        for values in rows:
            row = Row(*values)
            if self._is_old(row) or self._is_spent(row):
                return
            taken.append(self._lease(row, lease, receipt))

    def _lease(self, row: Row, lease: float, receipt: str) -> Taken:
        self.run(self.sql.lease, (self.now + lease, receipt, row.seq))
        return Taken(
            row.id, row.body, row.lane, receipt, row.deliveries + 1, row.put_at
        )

    def sweep(self) -> None:
        """Return items whose lease or delay has ended, the most overdue first."""
        for values in self.run(self.sql.overdue, (self.now, SWEEP)).fetchall():
            row = Row(*values)
            if self._is_spent(row):
                self._die(row, "max_deliveries", row.error or "its lease expired")
            else:
                self._give_back(row, 0.0, row.error, row.deliveries)

    def _is_spent(self, row: Row) -> bool:
        most = self.settings.max_deliveries
        return most is not None and row.deliveries >= most

    def _give_back(
        self, row: Row, delay: float, error: str | None, deliveries: int
    ) -> None:
        due = self.now + delay if delay > 0 else 0.0
        state = DELAYED if delay > 0 else READY
        if row.lane is not None:
            (head,) = self.run(self.sql.head, (row.lane,)).fetchone()
            if head != row.seq:
                state = BLOCKED
        self.run(self.sql.back, (state, due, error, deliveries, row.seq))

    # -- the end of a lease ------------------------------------------------------------

    def held(self, item: Taken) -> Row | None:
        """The row of an item, if it is still leased under its receipt."""
        found = self.run(self.sql.held, (item.id, item.receipt)).fetchone()
        return None if found is None else Row(*found)

    def ack(self, item: Taken) -> bool:
        """Remove an item for good."""
        row = self.held(item)
        if row is None:
            return False
        self._remove(row)
        self.totals.acked += 1
        if row.keyed:
            self.run(self.sql.finished, (row.id, self.wall))
            self.run(self.sql.forget, (self.wall - REMEMBER, self.wall + REMEMBER))
        return True

    def nack(self, item: Back) -> bool:
        """Give an item back, or make it a dead letter."""
        row = self.held(item.taken)
        if row is None:
            return False
        error = row.error if item.error is None else item.error
        if not item.counted:
            self._give_back(row, item.delay, error, max(0, row.deliveries - 1))
        elif self._is_spent(row):
            self._die(row, "max_deliveries", error)
        else:
            self._give_back(row, item.delay, error, row.deliveries)
        return True

    def extend(self, item: Taken, lease: float) -> bool:
        """Let the lease end ``lease`` seconds from now."""
        row = self.held(item)
        if row is not None:
            self.run(self.sql.extend, (self.now + lease, row.seq))
        return row is not None

    def bury(self, item: Taken, reason: str, error: str | None) -> bool:
        """Make a leased item a dead letter."""
        row = self.held(item)
        if row is not None:
            self._die(row, reason, error)
        return row is not None

    def _remove(self, row: Row) -> None:
        self.run(self.sql.delete, (row.seq,))
        self.totals.size -= 1
        self.totals.bytes -= row.size
        if row.lane is not None:
            self._unblock(row.lane)

    def _unblock(self, lane: str) -> None:
        """Let the first of a lane go, after the one before it has gone."""
        first = self.run(self.sql.behind_state, (lane, 0, 1)).fetchone()
        if first is not None and first[1] == BLOCKED:
            state = DELAYED if first[2] > self.now else READY
            self.run(self.sql.state, (state, first[0]))

    # -- dead letters --------------------------------------------------------------------

    def _die(self, row: Row, reason: str, error: str | None) -> bool:
        """Make an item a dead letter; parked where they are full, dropped without them."""
        dead = self.settings.dead_letter
        if dead is None:
            self._drop(row, reason)
            return True
        if self.totals.dead >= dead.max_size:
            due = self.now + PARK
            self.run(self.sql.back, (DELAYED, due, error, row.deliveries, row.seq))
            self.change.parked.append(row.id)
            return False
        self._remove(row)
        self._insert_dead(row, reason, error)
        return True

    def _insert_dead(self, row: Row, reason: str, error: str | None) -> None:
        totals = self.totals
        values = (
            totals.next,
            row.id,
            row.lane,
            row.deliveries,
            row.put_at,
            self.wall,
            row.keyed,
            reason,
            error,
            row.history,
            row.body,
        )
        self.run(self.sql.bury, values)
        totals.next += 1
        totals.dead += 1
        totals.dead_lettered += 1
        self.change.dead.append((row.id, reason))

    def redrive(self, ids: list[str] | None, count: int) -> int:
        """Put dead letters back with no deliveries, as far as they fit."""
        moved = 0
        for values in self._dead_rows(ids, count):
            dead = to_dead(values)
            if self._lacking(len(dead.body)) is not None:
                break
            self.run(self.sql.dead_delete, (values[0],))
            self.totals.dead -= 1
            entry = Entry(dead.id, dead.body, dead.lane, bool(values[6]))
            self._insert(entry, self.wall, json.dumps(dead.past()))
            moved += 1
        return moved

    def purge(self, ids: list[str] | None, count: int) -> int:
        """Delete dead letters."""
        rows = self._dead_rows(ids, count)
        for values in rows:
            self.run(self.sql.dead_delete, (values[0],))
        self.totals.dead -= len(rows)
        return len(rows)

    def _dead_rows(self, ids: list[str] | None, count: int) -> list[tuple[Any, ...]]:
        if ids is None:
            return self.run(self.sql.dead, (0, count)).fetchall()
        found = (self.run(self.sql.dead_one, (id,)).fetchone() for id in ids[:count])
        return [values for values in found if values is not None]


def to_dead(values: tuple[Any, ...]) -> Dead:
    """A dead letter from its row."""
    seq, id, lane, deliveries, put_at, died_at, _, reason, error, history, body = values
    past: list[dict[str, Any]] = json.loads(history) if history else []
    return Dead(
        id,
        body,
        lane,
        reason,
        error,
        deliveries,
        put_at,
        died_at,
        tuple(past),
        seq,
    )
