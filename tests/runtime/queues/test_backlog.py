"""A backlog of a million items costs no memory, and no step looks through it (C33, C35)."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Queue, Redis, Sqlite, Upload, live
from policyctl.runtime.queues.recovery import recover
from policyctl.runtime.registry import registry
from policyctl.runtime.stores import sqlite as store_sqlite

MILLION = 1_000_000
BODY = b'{"n":0,"text":"............................................................"}'
INSTRUCTIONS = 100
"""Of SQLite's machine, between two ticks of its progress handler."""
FLAT = 4 * 1024 * 1024
"""Bytes that Python may have in use at most while batches come and go."""

FILL = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO items_1(seq, id, state, due, deliveries, put_at, keyed, size, body)
SELECT n, printf('%032d', n), 0, 0, 0, 1700000000 + n, 0, :size, :body FROM numbers
"""


@pytest.fixture
def operation() -> Iterator[str]:
    """The operation that sends batches."""
    Policy(service="backlog", operation="send", transport="http")
    yield "backlog.send"
    registry.forget("backlog.send")


def queue_on(store: Sqlite | Redis) -> Queue[Any]:
    """A queue with room for two millions, sent in batches of 500."""
    live.forget("backlog.reports")
    upload = Upload(operation="backlog.send", batch=500, interval=0.001, drain=1.0)
    return Queue(
        service="backlog",
        queue="reports",
        store=store,
        max_size=2 * MILLION,
        upload=upload,
    )


@pytest.fixture(scope="module")
def full_file() -> Iterator[Path]:
    """A file with a million items, filled by one statement."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 2**30
    where = str(memory) if roomy else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        path = Path(folder) / "reports.db"
        queue_on(Sqlite(path=str(path))).stats()  # makes the tables
        live.forget("backlog.reports")
        fill(path, MILLION)
        yield path


def fill(path: Path, count: int) -> None:
    """Put items by one statement."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        values = {"count": count, "size": len(BODY), "body": BODY}
        connection.execute(FILL, values)
        connection.execute(
            "UPDATE queues SET next = :n + 1, size = :n, bytes = :n * :size, put = :n",
            {"n": count, "size": len(BODY)},
        )
        connection.commit()


def peak_of(work: Callable[[], object]) -> int:
    """The most bytes that Python had in use for some work, beyond those before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def every_step(queue: Queue[Any]) -> None:
    """Each step of a queue once."""
    queue.put({"n": 1})
    assert queue.stats().size
    assert len(queue.store.peek(5)) == 5
    items = queue.take_many(3)
    assert queue.extend(items[0])
    assert queue.ack(items[0])
    assert queue.nack(items[1], "no", delay=0.0)
    assert queue.release(items[2])
    assert queue.dead_letters() == []


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each 100 instructions of SQLite on connections opened from now on."""
    counted: list[int] = []
    original = store_sqlite.connect

    def connect(path: Any, **options: Any) -> sqlite3.Connection:
        connection = original(path, **options)
        connection.set_progress_handler(lambda: counted.append(1), INSTRUCTIONS)
        return connection

    monkeypatch.setattr(store_sqlite, "connect", connect)
    return counted


def test_no_step_looks_through_the_backlog(
    full_file: Path, memory_path: Path, ticks: list[int], operation: str
) -> None:
    """Every step takes as many instructions with a million items as with a hundred."""
    small = memory_path / "small.db"
    queue_on(Sqlite(path=str(small))).stats()
    live.forget("backlog.reports")
    fill(small, 100)
    used = []
    for path in (small, full_file):
        queue = queue_on(Sqlite(path=str(path)))
        every_step(queue)
        ticks.clear()
        every_step(queue)
        used.append(len(ticks))
    assert used[1] <= used[0] + 5


def test_a_worker_drains_a_million_in_flat_memory(
    full_file: Path, operation: str
) -> None:
    """20 000 of the million go out, in order; what stays behind takes no memory."""
    queue = queue_on(Sqlite(path=str(full_file)))
    received: list[int] = []
    worker = queue.worker(lambda payloads: received.append(len(payloads)))
    before = queue.stats()
    worker.step()

    def work() -> None:
        for _ in range(40):
            worker.step()

    assert peak_of(work) < FLAT
    assert sum(received) >= 20_000
    assert before.size - queue.stats().size == sum(received)
    assert before.size > MILLION - 100


def test_a_repair_of_a_backlog_is_flat_too(memory_path: Path, operation: str) -> None:
    """Bringing the items of a damaged file over reads them one after the other."""
    path = memory_path / "damaged.db"
    queue = queue_on(Sqlite(path=str(path)))
    queue.stats()
    queue.close()
    fill(path, 50_000)
    with open(path, "r+b") as file:
        file.seek(4096 * 1000)
        file.write(b"\0" * 4096)
    store: Any = queue.store
    report: list[Any] = []
    assert peak_of(lambda: report.append(recover(store._database, "a page"))) < FLAT
    assert 49_000 < report[0]["salvaged"] <= 50_000
    assert queue.stats().size == report[0]["salvaged"]


def test_many_items_on_a_server(valkey: Any, operation: str) -> None:
    """On a server too a step makes the same number of commands whatever waits."""
    queue = queue_on(Redis(key="backlog", url_env="POLICY_REDIS_URL"))
    client = valkey.client()

    def commands() -> int:
        client.config_resetstat()
        every_step(queue)
        found: dict[str, Any] = client.info("commandstats")
        return sum(int(one["calls"]) for one in found.values())

    queue.put_many([{"n": n} for n in range(100)])
    every_step(queue)
    few = commands()
    batch = [{"n": n} for n in range(2000)]
    for _ in range(10):
        queue.put_many(batch)
    assert commands() <= few + 5
    received: list[int] = []
    worker = queue.worker(lambda payloads: received.append(len(payloads)))
    worker.step()

    def work() -> None:
        for _ in range(20):
            worker.step()

    assert peak_of(work) < FLAT
    assert sum(received) >= 10_000
