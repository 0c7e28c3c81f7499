"""The tables of queues in an SQLite file.

A file holds any number of queues, each with tables of its own; ``queues`` has a row of
running totals for each, which every step reads and writes, so that no step counts rows.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from typing import Final

FORMAT: Final = 1
READY: Final = 0
LEASED: Final = 1
DELAYED: Final = 2
BLOCKED: Final = 3
"""Behind another item of its lane."""

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS queues (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  next INTEGER NOT NULL DEFAULT 1,
  size INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  warned INTEGER NOT NULL DEFAULT 0,
  put INTEGER NOT NULL DEFAULT 0,
  acked INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0,
  dead_lettered INTEGER NOT NULL DEFAULT 0,
  clock REAL NOT NULL DEFAULT 0,
  max_size INTEGER,
  max_bytes INTEGER,
  warn_at REAL
)
"""

_QUEUE_TABLES: Final = """
CREATE TABLE IF NOT EXISTS items_{q} (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  due REAL NOT NULL,
  lane TEXT,
  receipt TEXT,
  deliveries INTEGER NOT NULL,
  put_at REAL NOT NULL,
  keyed INTEGER NOT NULL,
  size INTEGER NOT NULL,
  error TEXT,
  history TEXT,
  body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS ready_{q} ON items_{q}(seq) WHERE state = 0;
CREATE INDEX IF NOT EXISTS later_{q} ON items_{q}(due, state) WHERE state IN (1, 2);
CREATE INDEX IF NOT EXISTS lanes_{q} ON items_{q}(lane, seq) WHERE lane IS NOT NULL;
CREATE TABLE IF NOT EXISTS dead_{q} (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  lane TEXT,
  deliveries INTEGER NOT NULL,
  put_at REAL NOT NULL,
  died_at REAL NOT NULL,
  keyed INTEGER NOT NULL,
  reason TEXT NOT NULL,
  error TEXT,
  history TEXT,
  body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS done_{q} (
  id TEXT PRIMARY KEY,
  at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS done_at_{q} ON done_{q}(at)
"""


def make_queue(connection: sqlite3.Connection, name: str) -> int:
    """The number of the queue called ``name``, whose tables are made if need be."""
    row = connection.execute("SELECT id FROM queues WHERE name = ?", (name,)).fetchone()
    if row is not None:
        return int(row[0])
    cursor = connection.execute("INSERT INTO queues(name) VALUES (?)", (name,))
    number = cursor.lastrowid or 0
    for statement in _QUEUE_TABLES.format(q=number).split(";"):
        connection.execute(statement)
    return number


class Statements:
    """The statements of one queue, with its number in the names of the tables."""

    def __init__(self, number: int) -> None:
        q = number
        items, dead, done = f"items_{q}", f"dead_{q}", f"done_{q}"
        self.number = number
        self.totals = (
            "SELECT next, size, bytes, dead, warned, put, acked, dropped, "
            f"dead_lettered, clock FROM queues WHERE id = {q}"
        )
        self.save = (
            "UPDATE queues SET next = ?, size = ?, bytes = ?, dead = ?, warned = ?, "
            "put = ?, acked = ?, dropped = ?, dead_lettered = ?, clock = ?, "
            "max_size = ?, max_bytes = ?, warn_at = ? "
            f"WHERE id = {q}"
        )
        self.insert = (
            f"INSERT OR IGNORE INTO {items}(seq, id, state, due, lane, deliveries, "
            "put_at, keyed, size, history, body) VALUES (?, ?, ?, 0, ?, 0, ?, ?, ?, ?, ?)"
        )
        self.is_known = (
            f"SELECT 1 FROM {items} WHERE id = :id UNION ALL "
            f"SELECT 1 FROM {dead} WHERE id = :id UNION ALL "
            f"SELECT 1 FROM {done} WHERE id = :id LIMIT 1"
        )
        self.in_lane = f"SELECT 1 FROM {items} WHERE lane = ? LIMIT 1"
        columns = "seq, id, lane, deliveries, put_at, keyed, size, error, history, body"
        self.ready = (
            f"SELECT {columns} FROM {items} WHERE state = 0 AND seq > ? "
            "ORDER BY seq LIMIT ?"
        )
        self.behind = (
            f"SELECT {columns} FROM {items} WHERE lane = ? AND seq > ? "
            "ORDER BY seq LIMIT ?"
        )
        self.behind_state = (
            f"SELECT seq, state, due FROM {items} WHERE lane = ? AND seq > ? "
            "ORDER BY seq LIMIT ?"
        )
        self.held = (
            f"SELECT {columns} FROM {items} WHERE id = ? AND receipt = ? AND state = 1"
        )
        self.oldest = (
            f"SELECT {columns} FROM {items} WHERE state <> 1 AND seq > ? "
            "ORDER BY seq LIMIT 1"
        )
        self.lease = (
            f"UPDATE {items} SET state = 1, due = ?, receipt = ?, "
            "deliveries = deliveries + 1 WHERE seq = ?"
        )
        self.extend = f"UPDATE {items} SET due = ? WHERE seq = ?"
        self.back = (
            f"UPDATE {items} SET state = ?, due = ?, receipt = NULL, error = ?, "
            "deliveries = ? WHERE seq = ?"
        )
        self.state = f"UPDATE {items} SET state = ? WHERE seq = ?"
        self.delete = f"DELETE FROM {items} WHERE seq = ?"
        self.head = f"SELECT min(seq) FROM {items} WHERE lane = ?"
        self.overdue = (
            f"SELECT {columns} FROM {items} WHERE state IN (1, 2) AND due <= ? "
            "ORDER BY due LIMIT ?"
        )
        self.restarted = f"UPDATE {items} SET due = 0 WHERE state IN (1, 2, 3)"
        self.later = (
            f"SELECT state, count(*) FROM {items} WHERE state IN (1, 2) AND due > ? "
            "GROUP BY state"
        )
        self.first = f"SELECT put_at FROM {items} ORDER BY seq LIMIT 1"
        self.next_due = f"SELECT min(due) FROM {items} WHERE state IN (1, 2)"
        self.any_ready = f"SELECT 1 FROM {items} WHERE state = 0 LIMIT 1"
        self.finished = f"INSERT OR REPLACE INTO {done}(id, at) VALUES (?, ?)"
        self.forget = (
            f"DELETE FROM {done} WHERE id IN "
            f"(SELECT id FROM {done} WHERE at < ? OR at > ? LIMIT 8)"
        )
        self.bury = (
            f"INSERT INTO {dead}(seq, id, lane, deliveries, put_at, died_at, keyed, "
            "reason, error, history, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        dead_columns = (
            "seq, id, lane, deliveries, put_at, died_at, keyed, reason, error, history, "
            "body"
        )
        self.dead = (
            f"SELECT {dead_columns} FROM {dead} WHERE seq > ? ORDER BY seq LIMIT ?"
        )
        self.dead_one = f"SELECT {dead_columns} FROM {dead} WHERE id = ?"
        self.dead_delete = f"DELETE FROM {dead} WHERE seq = ?"
        self.all_items = (
            f"SELECT {columns}, state, due FROM {items} WHERE seq > ? ORDER BY seq"
        )


@lru_cache(maxsize=256)
def statements(number: int) -> Statements:
    """The statements of the queue with that number in its file."""
    return Statements(number)
