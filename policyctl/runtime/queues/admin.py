"""Queues for those who look after them, without the program that uses them.

Everything here is safe while the queues are in use. Limits are those that the program
wrote beside the items.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, Final

from policyctl.runtime.queues.redis_store import RedisStore
from policyctl.runtime.queues.settings import QueueSettings, Redis, Sqlite
from policyctl.runtime.queues.sqlite_store import SqliteStore
from policyctl.runtime.stores.errors import StoreDamagedError, StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer
from policyctl.runtime.stores.sqlite_read import ReadOnlyDatabase

NO_LIMIT: Final = 1_000_000_000
URL_ENV: Final = "POLICYCTL_QUEUE_URL"


def open_file(path: str, *, writing: bool = False) -> dict[str, SqliteStore]:
    """The stores of all queues of a file, by name; nothing is made or repaired.

    Args:
        path: the file.
        writing: whether steps may change it; else it is only read, without a trace.

    Raises:
        FileNotFoundError: there is no such file.
        StoreUnavailableError: it holds no queues, is damaged or cannot be read.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(2, "there is no such file", path)
    try:
        rows = ReadOnlyDatabase(path).read(_limits_of_all)
    except (sqlite3.Error, StoreDamagedError) as error:
        missing = "no such" in str(error)
        message = "it is not a file of queues" if missing else str(error)
        raise StoreUnavailableError(store=path, message=message) from error
    return {name: _store(path, name, writing, *limits) for name, *limits in rows}


def _limits_of_all(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT name, max_size, max_bytes, warn_at FROM queues ORDER BY name"
    ).fetchall()


def _store(
    path: str,
    name: str,
    writing: bool,
    max_size: int | None,
    max_bytes: int | None,
    warn_at: float | None,
) -> SqliteStore:
    settings = QueueSettings(
        store=Sqlite(path=path),
        max_size=max_size or NO_LIMIT,
        max_bytes=max_bytes,
        warn_at=0.8 if warn_at is None else float(warn_at),
    )
    return SqliteStore(
        path, ("", name), settings, lambda _: None, repairs=False, reads=not writing
    )


def open_server(url: str) -> dict[str, RedisStore]:
    """The stores of all queues of a server or cluster, by their key.

    Raises:
        StoreUnavailableError: it is away, or no client library is installed.
    """
    os.environ[URL_ENV] = url
    server = RedisServer(URL_ENV)
    try:
        client = server.client()
        found = {
            name: limits
            for key in client.scan_iter("{*}:meta", count=1000)
            if (name := _text(key)) and (limits := _limits(client, key))
        }
    except StoreUnavailableError:
        raise
    except Exception as error:
        raise StoreUnavailableError(store=server.address, message=str(error)) from error
    stores: dict[str, RedisStore] = {}
    for name in sorted(found):
        key = name[1:].removesuffix("}:meta")
        max_size, max_bytes = found[name]
        settings = QueueSettings(
            store=Redis(key=key, url_env=URL_ENV),
            max_size=max_size,
            max_bytes=max_bytes,
        )
        stores[key] = RedisStore(server, key, ("", key), settings)
    return stores


def _text(key: bytes) -> str | None:
    """The name of a queue's key; None for a key that can be none."""
    try:
        name = key.decode()
    except UnicodeDecodeError:
        return None
    inner = name[1:].removesuffix("}:meta")
    return name if inner and not set(inner) & set("{}") else None


def _limits(client: Any, key: bytes) -> tuple[int, int | None] | None:
    """What a queue wrote beside its items; None for a key of somebody else."""
    if client.type(key) != b"hash":
        return None
    max_size, max_bytes = client.hmget(key, "max_size", "max_bytes")
    try:
        size, most = int(max_size), int(max_bytes) if max_bytes else None
    except (TypeError, ValueError):
        return None
    return (size, most) if size > 0 and (most is None or most > 0) else None
