"""The queues of a file for those who look after them, without the program that uses them.

Everything here is safe while the queues are in use. Limits are those that the program
wrote into the file.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from policyctl.runtime.queues.settings import QueueSettings, Sqlite
from policyctl.runtime.queues.sqlite_store import SqliteStore
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.runtime.stores.sqlite import connect

NO_LIMIT = 1_000_000_000


def open_file(path: str) -> dict[str, SqliteStore]:
    """The stores of all queues of a file, by name; nothing is made or repaired.

    Raises:
        FileNotFoundError: there is no such file.
        StoreUnavailableError: it holds no queues, is damaged or cannot be read.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(2, "there is no such file", path)
    try:
        connection = connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            rows = connection.execute(
                "SELECT name, max_size, max_bytes, warn_at FROM queues ORDER BY name"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        missing = "no such" in str(error)
        message = "it is not a file of queues" if missing else str(error)
        raise StoreUnavailableError(store=path, message=message) from error
    return {name: _store(path, name, *limits) for name, *limits in rows}


def _store(
    path: str, name: str, max_size: int | None, max_bytes: int | None, warn_at: float
) -> SqliteStore:
    settings = QueueSettings(
        store=Sqlite(path=path),
        max_size=max_size or NO_LIMIT,
        max_bytes=max_bytes,
        warn_at=0.8 if warn_at is None else float(warn_at),
    )
    return SqliteStore(path, ("", name), settings, lambda _: None, repairs=False)
