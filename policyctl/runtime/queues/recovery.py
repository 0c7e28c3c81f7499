"""A new file in place of a damaged one, with every item that can still be read."""

from __future__ import annotations

import contextlib
import os
import sqlite3
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
_DEAD = (
    "SELECT seq, id, lane, deliveries, put_at, died_at, keyed, reason, error, history, "
    "body FROM dead_{q} WHERE seq > ? ORDER BY seq"
)


def recover(database: Database, why: str) -> dict[str, object] | None:
    """Move the file aside, start a new one, and bring over what can be read.

    Of several processes that find the damage one does this; the others wait for it. If
    it dies on the way, the next one goes on from there.

    Returns:
        What happened: ``error``, ``moved_to``, ``salvaged`` items, ``salvaged_dead``
        and ``lost``, how many more the file should have held (None if it does not
        say); None if another process has done it.
    """
    with database.lock:
        if _is_sound(database):
            return None
        database.close()
        aside = move_aside_or_go_on(database.path, database.repair)
        report: dict[str, object] = {"error": why, "moved_to": str(aside)}
        found = _Found()
        with (
            contextlib.suppress(sqlite3.DatabaseError, OSError),
            readable_copy(aside) as damaged,
        ):
            found.read(damaged)
        _write(database, found)
        os.unlink(database.repair)
        report |= {
            "salvaged": found.count(found.items),
            "salvaged_dead": found.count(found.dead),
            "lost": found.lost(),
        }
        return report


def _write(database: Database, found: _Found) -> None:
    """Bring over what was read; on a full disk with the space that is kept for it."""
    database.repairing = True
    try:
        try:
            database.write(found.restore)
        except StoreFullError:
            database.open_reserve()
            database.write(found.restore)
    finally:
        database.repairing = False


def _is_sound(database: Database) -> bool:
    """Whether the file is whole: another process may have replaced it."""

    def check(connection: sqlite3.Connection) -> bool:
        answer = connection.execute("PRAGMA integrity_check(1)").fetchone()
        return bool(answer[0] == "ok")

    try:
        return database.read(check)
    except Exception:
        return False


class _Found:
    """What was read from a damaged file, by the name of the queue."""

    def __init__(self) -> None:
        self.items: dict[str, list[tuple[Any, ...]]] = {}
        self.dead: dict[str, list[tuple[Any, ...]]] = {}
        self.totals: dict[str, tuple[Any, ...]] = {}
        self._ids: set[tuple[str, str]] = set()

    @staticmethod
    def count(rows: dict[str, list[tuple[Any, ...]]]) -> int:
        """How many rows of all queues."""
        return sum(map(len, rows.values()))

    def lost(self) -> int | None:
        """How many items and dead letters the totals know of that were not read."""
        if not self.totals:
            return None
        known = sum(int(row[1]) + int(row[3]) for row in self.totals.values())
        return max(0, known - self.count(self.items) - self.count(self.dead))

    def read(self, damaged: sqlite3.Connection) -> None:
        """Read every queue as far as it goes."""
        damaged.text_factory = str
        for number, name in self._queues(damaged):
            sql = statements(number)
            known = 0
            with contextlib.suppress(sqlite3.DatabaseError):
                self.totals[name] = damaged.execute(sql.totals).fetchone()
                known = self.totals[name][0]
            for select, table, into in (
                (_ITEMS, "items", self.items),
                (_DEAD, "dead", self.dead),
            ):
                last = last_number(damaged, f"{table}_{number}", known)
                rows = readable_rows(damaged, select.format(q=number), last)
                into[name] = [row for row in rows if self._is_good(name, row)]

    def _is_good(self, name: str, row: tuple[Any, ...]) -> bool:
        """Whether the values have the types that belong there, and the id is new."""
        known = (name, row[1])
        if not isinstance(row[-1], bytes) or known in self._ids:
            return False
        self._ids.add(known)
        return isinstance(row[1], str)

    @staticmethod
    def _queues(damaged: sqlite3.Connection) -> list[tuple[int, str]]:
        with contextlib.suppress(sqlite3.DatabaseError):
            return damaged.execute("SELECT id, name FROM queues").fetchall()
        return []

    def restore(self, connection: sqlite3.Connection) -> None:
        """Put everything into the new file, in its old order, if it is not there yet."""
        if connection.execute("SELECT count(*) FROM queues").fetchone()[0]:
            return
        for name, items in self.items.items():
            number = make_queue(connection, name)
            dead = self.dead.get(name, [])
            _insert(connection, f"items_{number}", items)
            for statement in _MEND:
                connection.execute(statement.format(q=number))
            _insert(connection, f"dead_{number}", dead)
            old = self.totals.get(name)
            top = max([row[0] for row in (*items, *dead)], default=0)
            connection.execute(
                "UPDATE queues SET next = ?, size = ?, bytes = ?, dead = ?, put = ?, "
                "acked = ?, dropped = ?, dead_lettered = ?, clock = ? WHERE id = ?",
                (
                    max(top + 1, old[0] if old else 1),
                    len(items),
                    sum(row[9] for row in items),
                    len(dead),
                    *(old[5:9] if old else (len(items), 0, 0, len(dead))),
                    0.0,
                    number,
                ),
            )


def _insert(
    connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]
) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
