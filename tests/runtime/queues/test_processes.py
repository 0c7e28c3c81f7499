"""50 producers and 10 consumers as processes, on each store (C31, C32)."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues import Queue, Redelivery, Redis, Sqlite, live

PRODUCERS = 50
CONSUMERS = 10
EACH = 4
ROOM = 40
PATIENCE = 120.0
_numbers = itertools.count()


@pytest.fixture(params=["sqlite", "redis"])
def queue(request: pytest.FixtureRequest, memory_path: Path) -> Iterator[Queue[Any]]:
    """A small queue, so that producers find it full again and again."""
    name = f"processes{next(_numbers)}"
    store: Sqlite | Redis = Sqlite(path=str(memory_path / "queue.db"))
    if request.param == "redis":
        request.getfixturevalue("valkey")
        store = Redis(key=name, url_env="POLICY_REDIS_URL")
    yield Queue(
        service="tests",
        queue=name,
        store=store,
        max_size=ROOM,
        lease=2 * PATIENCE,
        max_deliveries=3,
        redelivery=Redelivery(initial=0.0, max=0.0),
    )
    live.forget(f"tests.{name}")


def spawn(run: Callable[[], Iterator[str]]) -> tuple[int, int]:
    """Fork a process that says some lines; its number, and where it says them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by _exit
        status = 1
        try:
            os.close(reading)
            with open(writing, "w", buffering=1) as pipe:
                for text in run():
                    print(text, file=pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return child, reading


def gather(children: list[tuple[int, int]]) -> list[str]:
    """What all said; each has to end well."""
    said: list[str] = []
    for child, reading in children:
        with open(reading) as pipe:
            said += pipe.read().split()
        assert os.waitpid(child, 0)[1] == 0
    return said


def produce(queue: Queue[Any], number: int) -> Iterator[str]:
    """Put items, waiting while there is no room."""
    for n in range(EACH):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                yield queue.put({"from": number, "n": n}).id
                break
            except QueueFullError:
                assert time.monotonic() < until
                time.sleep(0.002 * (1 + number % 5))


def consume(queue: Queue[Any], number: int, end: Path) -> Iterator[str]:
    """Take and acknowledge until nothing more comes; fail some at their first delivery."""
    while True:
        last = end.exists()
        items = queue.take_many(1 + number % 4)
        assert queue.stats().size <= ROOM
        for item in items:
            if item.deliveries == 1 and item.payload["n"] == number % EACH:
                assert item.nack("not yet")
            elif item.ack():
                yield item.id
        if not items:
            if last:
                return
            time.sleep(0.005)


def test_fifty_producers_and_ten_consumers(
    queue: Queue[Any], memory_path: Path
) -> None:
    """Every item that was put is acknowledged once; the limit is never passed."""
    end = memory_path / "end"
    queue.stats()  # a connection of the parent, which no child may use
    consumers = [
        spawn(lambda n=n: consume(queue, n, end))  # type: ignore[misc]
        for n in range(CONSUMERS)
    ]
    producers = [
        spawn(lambda n=n: produce(queue, n))  # type: ignore[misc]
        for n in range(PRODUCERS)
    ]
    put = gather(producers)
    end.touch()
    acked = gather(consumers)
    assert len(put) == PRODUCERS * EACH
    assert sorted(acked) == sorted(put)
    stats = queue.stats()
    assert (stats.put, stats.acked) == (len(put), len(put))
    assert (stats.ready, stats.leased, stats.dead, stats.bytes) == (0, 0, 0, 0)
