"""A new file in place of a damaged one, with every item that can still be read."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from policyctl.runtime.queues.tables import make_queue, statements
from policyctl.runtime.stores.damage import (
    last_number,
    move_aside_or_go_on,
    readable_copy,
    readable_rows,
)
from policyctl.runtime.stores.errors import StoreFullError
from policyctl.runtime.stores.sqlite import Database

_ITEMS = (
    "SELECT seq, id, state, due, lane, receipt, deliveries, put_at, keyed, size, error, "
    "history, body FROM items_{q} WHERE seq > ? ORDER BY seq"
)
# Leases go on; but the first of a lane may have been lost, and then the next is it.
_MEND = (
    "UPDATE items_{q} SET state = 2, due = 0 WHERE state NOT IN (0, 1, 2, 3)",
    "UPDATE items_{q} SET state = 3 WHERE lane IS NOT NULL AND state <> 1",
    """
    UPDATE items_{q} SET state = 2 WHERE state = 3 AND seq IN
    (SELECT min(seq) FROM items_{q} WHERE lane IS NOT NULL GROUP BY lane)
    """,
)
# Damage may show one item twice, also where it died.
_ONCE = "DELETE FROM dead_{q} WHERE id IN (SELECT id FROM items_{q})"
_SUMS = "SELECT count(*), coalesce(sum(length(body)), 0), coalesce(max(seq), 0) FROM items_{q}"
_SUMS_OF_DEAD = "SELECT count(*), coalesce(max(seq), 0) FROM dead_{q}"
_DEAD = (
    "SELECT seq, id, lane, deliveries, put_at, died_at, keyed, reason, error, history, "
    "body FROM dead_{q} WHERE seq > ? ORDER BY seq"
)


_BATCH = 500
"""Rows that are in memory at once."""


def recover(database: Database, why: str) -> dict[str, object] | None:
    """Move the file aside, start a new one, and bring over what can be read.

    Of several processes that find the damage one does this; the others wait for it. If
    it dies on the way, the next one goes on from there.

    Returns:
        What happened: ``error``, ``moved_to``, ``salvaged`` items, ``salvaged_dead``
        and ``lost``, how many more the file should have held (None if it does not
        say); None if another process has done it.

    Raises:
        StoreFullError: there is no space for it now; it is begun again next time.
    """
    with database.lock:
        if _is_sound(database):
            return None
        database.close()
        aside = move_aside_or_go_on(database.path, database.repair)
        with contextlib.ExitStack() as stack:
            salvage = _Salvage(_open(aside, stack))
            _write(database, salvage)
        os.unlink(database.repair)
        return {
            "error": why,
            "moved_to": str(aside),
            "salvaged": salvage.items,
            "salvaged_dead": salvage.dead,
            "lost": salvage.lost(),
        }


def _open(aside: Path, stack: contextlib.ExitStack) -> sqlite3.Connection | None:
    """A connection to a copy of the damaged file; None if nothing of it can be read."""
    try:
        damaged = stack.enter_context(readable_copy(aside))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(str(error)) from error
        return None
    except sqlite3.DatabaseError:
        return None
    damaged.text_factory = str
    return damaged


def _write(database: Database, salvage: _Salvage) -> None:
    """Bring over what can be read; on a full disk with the space that is kept for it."""
    database.repairing = True
    try:
        try:
            database.write(salvage.restore)
        except StoreFullError:
            database.open_reserve()
            database.write(salvage.restore)
    finally:
        database.repairing = False


def _is_sound(database: Database) -> bool:
    """Whether the file is whole: another process may have replaced it."""

    def check(connection: sqlite3.Connection) -> bool:
        answer = connection.execute("PRAGMA integrity_check(1)").fetchone()
        return bool(answer[0] == "ok")

    try:
        return database.read(check)
    except StoreFullError:
        raise
    except Exception:
        return False


class _Salvage:
    """Brings rows over from a damaged file, a few at a time.

    Attributes:
        items, dead: how many items and dead letters were brought over.
    """

    def __init__(self, damaged: sqlite3.Connection | None) -> None:
        self._damaged = damaged
        self._known: int | None = None
        self.items = 0
        self.dead = 0

    def lost(self) -> int | None:
        """How many items and dead letters the totals know of that were not read."""
        if self._known is None:
            return None
        return max(0, self._known - self.items - self.dead)

    def restore(self, connection: sqlite3.Connection) -> None:
        """Put everything into the new file, in its old order, if it is not there yet."""
        self.items, self.dead, self._known = 0, 0, None
        (begun,) = connection.execute("SELECT count(*) FROM queues").fetchone()
        for number, name in self._queues():
            totals = self._totals(number)
            if totals is not None:
                self._known = (self._known or 0) + int(totals[1]) + int(totals[3])
            if not begun:
                self._bring_over(connection, number, name, totals)
        query = "SELECT coalesce(sum(size), 0), coalesce(sum(dead), 0) FROM queues"
        self.items, self.dead = connection.execute(query).fetchone()

    def _queues(self) -> list[tuple[int, str]]:
        if self._damaged is not None:
            with contextlib.suppress(sqlite3.DatabaseError):
                return self._damaged.execute("SELECT id, name FROM queues").fetchall()
        return []

    def _totals(self, number: int) -> tuple[Any, ...] | None:
        assert self._damaged is not None
        with contextlib.suppress(sqlite3.DatabaseError):
            found: tuple[Any, ...] | None = self._damaged.execute(
                statements(number).totals
            ).fetchone()
            return found
        return None

    def _bring_over(
        self,
        connection: sqlite3.Connection,
        old: int,
        name: str,
        totals: tuple[Any, ...] | None,
    ) -> None:
        number = make_queue(connection, name)
        known = totals[0] if totals else 0
        for select, table in ((_ITEMS, "items"), (_DEAD, "dead")):
            rows = self._rows(select.format(q=old), f"{table}_{old}", known)
            while batch := [*islice(rows, _BATCH)]:
                _insert(connection, f"{table}_{number}", [*filter(_is_good, batch)])
        for statement in (_ONCE, *_MEND):
            connection.execute(statement.format(q=number))
        size, most, top = connection.execute(_SUMS.format(q=number)).fetchone()
        dead, last = connection.execute(_SUMS_OF_DEAD.format(q=number)).fetchone()
        connection.execute(
            "UPDATE queues SET next = ?, size = ?, bytes = ?, dead = ?, put = ?, "
            "acked = ?, dropped = ?, dead_lettered = ?, clock = ? WHERE id = ?",
            (
                max(top + 1, last + 1, totals[0] if totals else 1),
                size,
                most,
                dead,
                *(totals[5:9] if totals else (size, 0, 0, dead)),
                0.0,
                number,
            ),
        )

    def _rows(self, select: str, table: str, known: int) -> Iterator[tuple[Any, ...]]:
        assert self._damaged is not None
        last = last_number(self._damaged, table, known)
        return readable_rows(self._damaged, select, last)


def _is_good(row: tuple[Any, ...]) -> bool:
    """Whether the values have the types that belong there."""
    return isinstance(row[-1], bytes) and isinstance(row[1], str)


def _insert(
    connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]
) -> None:
    """Insert rows whose number and id are new."""
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
