"""Records in an SQLite file, for all processes of one machine, surviving restarts.

Instants are whole microseconds of the wall clock, since they must outlive the machine's
uptime; a clock that was set back can keep a record for at most its own length longer.
"""

from __future__ import annotations

import sqlite3

from policyctl.runtime.idempotency.memory import Record
from policyctl.runtime.stores.damage import move_aside
from policyctl.runtime.stores.errors import (
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)
from policyctl.runtime.stores.sqlite import Database
from policyctl.runtime.stores.wall import wall_micros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from policyctl.runtime.stores.sqlite import Connection

    R = TypeVar("R")

FOREVER = 366 * 86400
"""Seconds that a call without a limit may be in progress."""
_SWEEP = 64
"""Expired records that one claim drops at most."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS idempotency (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    owner TEXT NOT NULL,
    payload BLOB,
    expires INTEGER NOT NULL,
    lasts INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idempotency_expires ON idempotency (expires)
"""
_CLAIM = "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, NULL, ?, ?)"


class SqliteStore:
    """A table of records; each step is one immediate transaction.

    Args:
        path: the file; several operations and processes may share it.
        max_bytes: the largest outcome that is kept.
    """

    blocking = True

    def __init__(self, path: str, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._database = Database(path, _SCHEMA)

    def claim(
        self, key: str, fingerprint: str, owner: str, in_progress: float | None
    ) -> Record | None:
        """Take the key for ``owner``; else what is there, unchanged.

        Raises:
            StoreUnavailableError: the file cannot be used now; nothing was taken.
        """
        now = wall_micros()
        lasts = _micros(FOREVER if in_progress is None else in_progress)

        def work(connection: Connection) -> Record | None:
            found = _live(connection, key, now)
            if found is not None and found.owner != owner:
                return found
            _sweep(connection, now)
            row = (key, fingerprint, owner, now + lasts, lasts)
            connection.execute(_CLAIM, row)
            return None

        return self._write(work)

    def complete(self, key: str, owner: str, payload: bytes, ttl: float) -> bool:
        """Store an outcome; False if the key is not the owner's any more.

        Raises:
            StoreUnavailableError: the file cannot be used now; nothing was stored.
        """
        now, lasts = wall_micros(), _micros(ttl)

        def work(connection: Connection) -> bool:
            found = _live(connection, key, now)
            if found is None or found.owner != owner or found.payload is not None:
                return False
            connection.execute(
                "UPDATE idempotency SET payload = ?, expires = ?, lasts = ? "
                "WHERE key = ?",
                (payload, now + lasts, lasts, key),
            )
            return True

        return self._write(work)

    def release(self, key: str, owner: str) -> None:
        """Free the key if it is the owner's.

        Raises:
            StoreUnavailableError: the file cannot be used now.
        """
        self._write(
            lambda connection: connection.execute(
                "DELETE FROM idempotency "
                "WHERE key = ? AND owner = ? AND payload IS NULL",
                (key, owner),
            )
        )

    def watch(self, key: str, wake: Callable[[], object]) -> bool:
        """Nobody tells of what other processes do: poll."""
        return False

    def unwatch(self, key: str, wake: Callable[[], object]) -> None:
        """There is nothing to forget."""

    def clear(self) -> None:
        """Forget everything in the file, for tests and operators."""
        self._write(lambda connection: connection.execute("DELETE FROM idempotency"))

    def after_fork(self) -> None:
        """The database forgets its connections by itself."""

    def _write(self, work: Callable[[Connection], R]) -> R:
        try:
            return self._database.write(work)
        except StoreDamagedError as error:
            self._start_anew(error)
        except (StoreFullError, sqlite3.Error, OSError) as error:
            raise self._away(error) from error
        try:
            return self._database.write(work)
        except (StoreDamagedError, StoreFullError, sqlite3.Error, OSError) as error:
            raise self._away(error) from error

    def _start_anew(self, error: Exception) -> None:
        """Move a damaged file aside; what it knew of keys is gone, and that is said."""
        import logging

        database = self._database
        try:
            with database.lock:
                database.close()
                if not _is_sound(database):
                    aside = move_aside(database.path)
                    logging.getLogger("policyctl").error(
                        "idempotency store %s is damaged (%s) and was moved to %s; "
                        "calls made before can be made again",
                        database.path,
                        error,
                        aside.name,
                    )
        except OSError as problem:
            raise self._away(problem) from problem

    def _away(self, error: Exception) -> StoreUnavailableError:
        return StoreUnavailableError(
            store=str(self._database.path), message=str(error) or type(error).__name__
        )


def _is_sound(database: Database) -> bool:
    """Whether another process has replaced the damaged file meanwhile."""
    try:
        connection = sqlite3.connect(database.path, timeout=1.0)
        try:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            connection.execute("SELECT key FROM idempotency LIMIT 1").fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return False
    return bool(found) and found[0] == "ok"


def _micros(seconds: float) -> int:
    return max(1, round(seconds * 1_000_000))


def _live(connection: Connection, key: str, now: int) -> Record | None:
    """The record of a key unless it has expired.

    One that would last longer than it was made to, because the clock was set back,
    starts anew.
    """
    row = connection.execute(
        "SELECT fingerprint, owner, payload, expires, lasts FROM idempotency "
        "WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    fingerprint, owner, payload, expires, lasts = row
    if expires - now > lasts:
        expires = now + lasts
        connection.execute(
            "UPDATE idempotency SET expires = ? WHERE key = ?", (expires, key)
        )
    if expires <= now:
        return None
    record = Record(fingerprint, owner, expires / 1_000_000)
    record.payload = payload
    return record


def _sweep(connection: Connection, now: int) -> None:
    connection.execute(
        "DELETE FROM idempotency WHERE key IN "
        "(SELECT key FROM idempotency WHERE expires <= ? ORDER BY expires LIMIT ?)",
        (now, _SWEEP),
    )
