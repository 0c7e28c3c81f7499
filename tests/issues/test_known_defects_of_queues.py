"""Defects of the queue code that policyctl replaces, each with a test that fails on it.

A queue of size 0 is in ``test_known_defects_of_calls.py``, beside the other settings.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import (
    DeadLetter,
    Queue,
    Redelivery,
    Redis,
    Sqlite,
    StoreUnavailableError,
    Upload,
    live,
)
from policyctl.runtime.queues.sqlite_store import SqliteStore
from policyctl.runtime.registry import registry
from policyctl.runtime.stores.sqlite import Database

Make = Callable[..., Queue[Any]]
_numbers = itertools.count()


@pytest.fixture(params=["sqlite", "redis"])
def make(request: pytest.FixtureRequest, memory_path: Path) -> Iterator[Make]:
    """Makes queues on each store in turn, in real time."""
    if request.param == "redis":
        request.getfixturevalue("valkey")
    made: list[str] = []

    def create(**changes: Any) -> Queue[Any]:
        name = f"defect{next(_numbers)}"
        made.append(name)
        stores: dict[str, Sqlite | Redis] = {
            "sqlite": Sqlite(path=str(memory_path / f"{name}.db")),
            "redis": Redis(key=name, url_env="POLICY_REDIS_URL"),
        }
        values: dict[str, Any] = {
            "max_size": 100,
            "redelivery": Redelivery(initial=0.0, max=0.0),
        }
        return Queue(
            service="old", queue=name, store=stores[request.param], **values | changes
        )

    yield create
    for name in made:
        live.forget(f"old.{name}")


@pytest.fixture
def operation() -> Iterator[str]:
    """The name of an operation without any limit."""
    name = f"send{next(_numbers)}"
    Policy(service="old", operation=name, transport="http")
    yield f"old.{name}"
    registry.forget(f"old.{name}")


def break_dead_letters(queue: Queue[Any]) -> Callable[[], None]:
    """Let every write of a dead letter fail; what is given ends it."""
    kind = queue.settings.store
    if isinstance(kind, Sqlite):
        with contextlib.closing(sqlite3.connect(kind.path)) as connection:
            connection.execute(
                "CREATE TRIGGER broken BEFORE INSERT ON dead_1 "
                "BEGIN SELECT RAISE(ABORT, 'no dead letters today'); END"
            )

        def mend() -> None:
            with contextlib.closing(sqlite3.connect(kind.path)) as connection:
                connection.execute("DROP TRIGGER broken")

        return mend
    import redis

    client = redis.Redis.from_url(os.environ[kind.url_env])
    name = f"{{{kind.key}}}:dead"
    client.set(name, "of another type")

    def mend_server() -> None:
        client.delete(name)

    return mend_server


def test_a_dead_letter_write_that_fails_loses_no_item(make: Make) -> None:
    """The queue refused, the dead letter could not be written: the item was gone."""
    queue = make(max_size=1, overflow="dead_letter", max_deliveries=1)
    queue.put({"n": 1}, id="kept")
    mend = break_dead_letters(queue)
    with pytest.raises(StoreUnavailableError):
        queue.put({"n": 2}, id="refused")
    item = queue.take()
    assert item is not None
    with pytest.raises(StoreUnavailableError):
        item.nack("its last delivery")
    mend()
    assert (queue.stats().size, queue.stats().dead, queue.stats().put) == (1, 0, 1)
    assert item.nack("its last delivery")
    assert [letter.id for letter in queue.dead_letters()] == ["kept"]
    assert queue.put({"n": 2}, id="refused").outcome == "queued"


def test_full_dead_letters_leave_the_item_with_the_caller(make: Make) -> None:
    """Neither place has room: the caller is told, and nothing is half done."""
    queue = make(max_size=1, overflow="dead_letter", dead_letter=DeadLetter(max_size=1))
    assert [queue.put({"n": n}).outcome for n in range(2)] == ["queued", "dead_letter"]
    with pytest.raises(QueueFullError, match="dead letters"):
        queue.put({"n": 2}, id="third")
    assert (queue.stats().size, queue.stats().dead) == (1, 1)
    assert queue.purge() == 1
    assert queue.put({"n": 2}, id="third").outcome == "dead_letter"


def test_no_connection_is_shared_by_two_threads(memory_path: Path) -> None:
    """One connection and its cursor served all threads at once."""
    database = Database(
        str(memory_path / "threads.db"), "CREATE TABLE IF NOT EXISTS t(x)"
    )
    inside = threading.Barrier(4, timeout=180)
    seen: list[int] = []

    def look(connection: sqlite3.Connection) -> None:
        seen.append(id(connection))
        inside.wait()  # all four are inside of a transaction now
        connection.execute("SELECT count(*) FROM t").fetchone()

    for _ in range(3):
        threads = [
            threading.Thread(target=lambda: database.read(look), daemon=True)
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 4
        seen.clear()
    database.close()


def test_threads_get_their_own_answers(make: Make) -> None:
    """A cursor that two threads shared gave one of them the other's rows."""
    queue = make(max_size=1000)
    wrong: list[object] = []

    def run(number: int) -> None:
        for n in range(15):
            id = f"{number}-{n}"
            if queue.put({"id": id}, id=id).id != id:
                wrong.append(id)
            item = queue.take()
            if item is None or item.payload["id"] != item.id or not item.ack():
                wrong.append(item)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert (queue.stats().size, queue.stats().acked) == (0, 90)


def test_a_worker_that_stops_closes_no_connection_of_others(
    make: Make, operation: str
) -> None:
    """The worker closed the one connection, and every later put failed."""
    upload = Upload(operation=operation, batch=5, interval=0.1, drain=5.0)
    queue = make(upload=upload)
    received: list[Any] = []
    for round_ in range(3):
        worker = queue.worker(received.extend).start()
        queue.put({"n": round_})
        assert worker.stop()
        assert queue.put({"n": "after"}).outcome == "queued"
        item = queue.take()
        assert item is not None
        assert item.ack()
    assert len(received) == 3


def test_a_transaction_goes_on_while_others_close(memory_path: Path) -> None:
    """Closing takes the idle connections alone, not the one that somebody is using."""
    queue: Queue[Any] = Queue(
        service="old",
        queue="closing",
        store=Sqlite(path=str(memory_path / "closing.db")),
        max_size=9,
    )
    queue.put({"n": 1})
    store = queue.store
    assert isinstance(store, SqliteStore)

    def work(connection: sqlite3.Connection) -> int:
        queue.close()
        found: tuple[int] = connection.execute(
            "SELECT count(*) FROM items_1"
        ).fetchone()
        return found[0]

    assert store._database.read(work) == 1
    assert queue.stats().size == 1
    live.forget("old.closing")


@pytest.mark.timing
def test_stop_does_not_sit_out_the_interval(make: Make, operation: str) -> None:
    """A stop waited up to 15 s, for the sleep between two batches."""
    upload = Upload(operation=operation, batch=5, interval=15.0, drain=10.0)
    queue = make(upload=upload)
    received: list[Any] = []
    worker = queue.worker(received.extend).start()
    queue.put_many([{"n": n} for n in range(3)])
    before = time.monotonic()
    assert worker.stop()
    assert time.monotonic() - before < 5.0
    assert [payload["n"] for payload in received] == [0, 1, 2]


def test_a_poison_batch_does_not_block_what_follows(make: Make, operation: str) -> None:
    """The oldest batch was sent again and again, and nothing behind it ever went."""
    upload = Upload(operation=operation, batch=4, interval=0.001, drain=1.0)
    queue = make(upload=upload, max_deliveries=2)
    received: list[int] = []

    def send(payloads: list[dict[str, int]]) -> None:
        numbers = [payload["n"] for payload in payloads]
        if set(numbers) & {0, 1, 2, 3}:  # the whole first batch is bad
            raise ValueError("bad batch")
        received.extend(numbers)

    queue.put_many([{"n": n} for n in range(12)])
    worker = queue.worker(send)
    for _ in range(20):
        worker.step()
    assert received == list(range(4, 12))
    bodies = sorted(letter.body for letter in queue.dead_letters())
    assert bodies == [b'{"n":%d}' % n for n in range(4)]
    assert queue.stats().size == 0
