"""Queues for those who look after them, without the program that uses them.

Everything here is safe while the queues are in use. Limits are those that the program
wrote beside the items.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from policyctl.runtime.queues.redis_store import RedisStore
from policyctl.runtime.queues.settings import QueueSettings, Redis, Sqlite
from policyctl.runtime.queues.sqlite_store import SqliteStore
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer
from policyctl.runtime.stores.sqlite import connect

NO_LIMIT: Final = 1_000_000_000
URL_ENV: Final = "POLICYCTL_QUEUE_URL"


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


def open_server(url: str) -> dict[str, RedisStore]:
    """The stores of all queues of a server or cluster, by their key.

    Raises:
        StoreUnavailableError: it is away, or no client library is installed.
    """
    os.environ[URL_ENV] = url
    server = RedisServer(URL_ENV)
    try:
        client = server.client()
        names = sorted(key.decode() for key in client.scan_iter("{*}:meta", count=1000))
        limits = [client.hmget(name, "max_size", "max_bytes") for name in names]
    except StoreUnavailableError:
        raise
    except Exception as error:
        raise StoreUnavailableError(store=server.address, message=str(error)) from error
    stores: dict[str, RedisStore] = {}
    for name, (max_size, max_bytes) in zip(names, limits, strict=True):
        if max_size is None:
            continue
        key = name[1:].removesuffix("}:meta")
        settings = QueueSettings(
            store=Redis(key=key, url_env=URL_ENV),
            max_size=int(max_size),
            max_bytes=int(max_bytes) if max_bytes else None,
        )
        stores[key] = RedisStore(server, key, ("", key), settings)
    return stores
