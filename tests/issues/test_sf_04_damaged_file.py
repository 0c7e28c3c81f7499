"""SF-04: a damaged store is moved aside, salvaged and replaced; the process starts.

opentelemetry-collector-contrib #35899, solid_queue #324.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Sqlite, live
from policyctl.testing import record_events

PAGE = 4096


@pytest.fixture
def path(memory_path: Path) -> Iterator[Path]:
    """A file with 300 items of 200 bytes, closed."""
    path = memory_path / "reports.db"
    queue = opened(path)
    queue.put_many([{"n": n, "text": "x" * 200} for n in range(300)])
    live.forget("edge.reports")
    yield path
    live.forget("edge.reports")


def opened(path: Path, **changes: Any) -> Queue[Any]:
    """The queue as a new process opens it."""
    live.forget("edge.reports")
    return Queue(
        service="edge",
        queue="reports",
        store=Sqlite(path=str(path)),
        max_size=1000,
        **changes,
    )


def truncate(path: Path) -> None:
    """The second half is gone."""
    os.truncate(path, path.stat().st_size // 2)


def zero_pages(path: Path) -> None:
    """Pages in the middle were never written."""
    with open(path, "r+b") as file:
        file.seek(18 * PAGE)
        file.write(bytes(4 * PAGE))


def zero_header(path: Path) -> None:
    """The first page was never written."""
    with open(path, "r+b") as file:
        file.write(bytes(PAGE))


def garbage(path: Path) -> None:
    """Somebody else's bytes."""
    path.write_bytes(b"not a database, " * 1000)


def garbage_inside(path: Path) -> None:
    """Every fourth page is noise."""
    with open(path, "r+b") as file:
        for page in range(5, path.stat().st_size // PAGE, 4):
            file.seek(page * PAGE)
            file.write(b"\xa5" * PAGE)


def empty(path: Path) -> None:
    """Nothing is left."""
    os.truncate(path, 0)


DAMAGES = [truncate, zero_pages, zero_header, garbage, garbage_inside, empty]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_the_program_goes_on(path: Path, damage: Callable[[Path], None]) -> None:
    """Puts and takes work, what was readable is there, and one event tells all."""
    damage(path)
    queue = opened(path)
    with record_events() as events:
        assert queue.put({"n": 1000}).outcome == "queued"
        drained = drain(queue)
    assert drained[-1] == 1000
    assert drained == sorted(set(drained))
    (event,) = events.of("queue_recovered")
    salvaged, lost = event.data["salvaged"], event.data["lost"]
    # The new item may have been put before the damage was met.
    new = salvaged - (len(drained) - 1)
    assert new in (0, 1)
    assert lost is None or salvaged + lost == 300 + new
    moved = Path(event.data["moved_to"])
    assert moved.parent == path.parent
    assert moved.name.startswith("reports.db.damaged-")
    assert moved.exists()


def drain(queue: Queue[Any]) -> list[int]:
    """The numbers of all items, acknowledged."""
    numbers: list[int] = []
    while items := queue.take_many(50):
        numbers += [item.payload["n"] for item in items]
        queue.ack_many(items)
    return numbers


@pytest.mark.parametrize(
    ("damage", "least"), [(zero_pages, 200), (garbage_inside, 150), (truncate, 50)]
)
def test_most_of_what_is_readable_comes_back(
    path: Path, damage: Callable[[Path], None], least: int
) -> None:
    """Rows behind a hole are read too."""
    damage(path)
    assert len(drain(opened(path))) >= least


def test_a_log_without_its_file_is_read(memory_path: Path) -> None:
    """When only the journal is left, the items in it are salvaged."""
    path = memory_path / "reports.db"
    queue = opened(path)
    queue.put_many([{"n": n} for n in range(20)])
    log = path.with_name("reports.db-wal")
    saved = log.read_bytes()
    live.forget("edge.reports")
    for name in ("reports.db", "reports.db-wal", "reports.db-shm"):
        (memory_path / name).unlink(missing_ok=True)
    log.write_bytes(saved)
    with record_events() as events:
        assert drain(opened(path)) == list(range(20))
    assert [event.data["salvaged"] for event in events.of("queue_recovered")] == [20]
    live.forget("edge.reports")


def test_damage_while_running_is_met_too(path: Path) -> None:
    """A page that goes bad under an open queue leads to the same recovery."""
    queue = opened(path)
    assert queue.stats().size == 300
    queue.close()
    zero_pages(path)
    with record_events() as events:
        numbers = drain(queue)
    assert len(numbers) >= 200
    assert len(events.of("queue_recovered")) == 1


def test_two_processes_recover_once(path: Path) -> None:
    """The one that comes second uses the file of the first."""
    garbage(path)
    one = opened(path)
    live.forget("edge.reports")
    two = opened(path)
    with record_events() as events:
        assert one.put({"n": 1}).outcome == "queued"
        assert two.put({"n": 2}).outcome == "queued"
        assert drain(one) == [1, 2]
    assert len(events.of("queue_recovered")) == 1


def test_order_survives(memory_path: Path) -> None:
    """Lanes go on in order although the first of one may be lost."""
    path = memory_path / "reports.db"
    queue = opened(path, order_by="key")
    queue.put_many([{"key": n % 3, "n": n, "text": "x" * 200} for n in range(300)])
    live.forget("edge.reports")
    zero_pages(path)
    queue = opened(path, order_by="key")
    last = {0: -1, 1: -1, 2: -1}
    count = 0
    while items := queue.take_many(50):
        for item in items:
            assert item.payload["n"] > last[item.payload["key"]]
            last[item.payload["key"]] = item.payload["n"]
            count += item.ack()
    assert count >= 200
    live.forget("edge.reports")
