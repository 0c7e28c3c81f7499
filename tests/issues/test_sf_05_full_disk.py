"""SF-05: on a full disk new items are rejected by policy, and the queue still drains.

opentelemetry-collector #7198.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues import Queue, Sqlite, live
from policyctl.runtime.queues.base import QueueBase
from policyctl.runtime.queues.sqlite_store import SqliteStore
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.runtime.stores.sqlite import free_bytes

TEXT = "x" * 1000


@pytest.fixture(params=["page limit", "small disk"])
def path(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A place with room for some hundred items: by a limit of pages, or really."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=fast) as folder:
        if request.param == "page limit":
            yield Path(folder) / "reports.db"
            return
        command = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", folder]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("mounting a small disk needs rights that are not there")
        try:
            yield Path(folder) / "reports.db"
        finally:
            live.forget("edge.reports")
            subprocess.run(["umount", folder], check=True, capture_output=True)


def opened(path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Queue[Any]:
    """A queue with more room than the disk has."""
    live.forget("edge.reports")
    if not os.path.ismount(path.parent):

        def limited(queue: QueueBase[Any]) -> SqliteStore:
            names = (queue.service, queue.queue)
            return SqliteStore(
                str(path), names, queue.settings, lambda _: None, max_pages=150
            )

        monkeypatch.setattr("policyctl.runtime.queues.open.open_store", limited)
    return Queue(
        service="edge",
        queue="reports",
        store=Sqlite(path=str(path)),
        max_size=100_000,
        **changes,
    )


def fill(queue: Queue[Any]) -> int:
    """Put until it is refused; how many were taken."""
    count = 0
    with pytest.raises(QueueFullError, match="bytes on disk"):  # noqa: PT012
        for count in range(100_000):
            queue.put({"n": count, "text": TEXT})
    return count


def test_a_full_disk_is_a_full_queue(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Puts are refused, takes and acks go on, and the space can be used again."""
    queue = opened(path, monkeypatch)
    count = fill(queue)
    assert count > 50
    with pytest.raises(QueueFullError):
        queue.put({"n": -1, "text": TEXT})
    drained: list[int] = []
    while items := queue.take_many(7):
        drained += [item.payload["n"] for item in items]
        assert all(queue.ack_many(items))
    assert drained == list(range(count))
    assert queue.stats().size == 0
    assert fill(queue) >= count // 2
    live.forget("edge.reports")


def test_failed_items_can_be_given_back_on_a_full_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nack, extend and release need no room either."""
    queue = opened(path, monkeypatch)
    fill(queue)
    one, two, three = queue.take_many(3)
    assert one.nack("no")
    assert two.extend()
    assert three.release()
    assert queue.stats().leased == 1
    live.forget("edge.reports")


def test_drop_oldest_makes_room_on_a_full_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest items are kept, and each that had to go is counted."""
    queue = opened(path, monkeypatch, overflow="drop_oldest")
    for start in range(0, 6000, 10):
        queue.put_many([{"n": n, "text": TEXT} for n in range(start, start + 10)])
    stats = queue.stats()
    assert stats.dropped > 0
    assert stats.size + stats.dropped == 6000
    numbers = []
    while items := queue.take_many(50):
        numbers += [item.payload["n"] for item in items]
        queue.ack_many(items)
    assert numbers == list(range(6000 - stats.size, 6000))
    live.forget("edge.reports")


@pytest.mark.parametrize("overflow", ["reject", "drop_oldest"])
@pytest.mark.parametrize("before", [True, False], ids=["from the start", "later"])
def test_a_limit_of_the_size_of_files_is_a_full_disk(
    memory_path: Path, overflow: Literal["reject", "drop_oldest"], before: bool
) -> None:
    """``ulimit -f`` and quotas: what was accepted drains, in its order."""
    resource = pytest.importorskip("resource")
    queue: Queue[Any] = Queue(
        service="edge",
        queue="limited",
        store=Sqlite(path=str(memory_path / "limited.db")),
        max_size=100_000,
        overflow=overflow,
    )
    if not before:
        queue.put({"n": -1, "text": TEXT})
    kind = resource.RLIMIT_FSIZE
    allowed = resource.getrlimit(kind)
    resource.setrlimit(kind, (3_000_000, allowed[1]))
    try:
        with suppress(QueueFullError):
            for start in range(0, 6000, 10):
                some = range(start, start + 10)
                queue.put_many([{"n": n, "text": TEXT} for n in some])
        stats = queue.stats()
        numbers: list[int] = []
        while items := queue.take_many(50):
            numbers += [item.payload["n"] for item in items]
            assert all(queue.ack_many(items))
        assert numbers == sorted(numbers)
        assert len(numbers) == stats.size > 400
        assert stats.put == stats.size + stats.dropped
        assert (stats.dropped > 0) is (overflow == "drop_oldest")
        assert queue.put({"n": 1}).outcome == "queued"
    finally:
        resource.setrlimit(kind, allowed)
    assert queue.put({"n": 2}).outcome == "queued"
    live.forget("edge.limited")


@pytest.fixture
def disk(path: Path) -> Path:
    """A small disk on which a queue holds 300 items, and that others have filled up since."""
    if not os.path.ismount(path.parent):
        pytest.skip("others can fill a real disk alone")
    queue: Queue[Any] = Queue(
        service="edge",
        queue="reports",
        store=Sqlite(path=str(path)),
        max_size=100_000,
    )
    queue.put_many([{"n": n, "text": TEXT} for n in range(300)])
    live.forget("edge.reports")
    assert not path.with_name("reports.db-wal").exists()
    fill_up(path.parent)
    return path


def fill_up(folder: Path) -> None:
    """Write until not one more byte fits."""
    with open(folder / "of_others", "ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


def test_a_process_that_starts_on_a_full_disk_drains(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log and its index take a part of the space that is kept, each time it is opened."""
    left = 300
    for _ in range(3):
        queue = opened(disk, monkeypatch)
        assert queue.stats().size == left
        items = queue.take_many(50)
        assert len(items) == 50
        assert all(queue.ack_many(items[:40]))
        assert all(queue.nack_many(items[40:], "no", delay=0.0))
        left -= 40
        live.forget("edge.reports")
        fill_up(disk.parent)
    (disk.parent / "of_others").unlink()
    queue = opened(disk, monkeypatch)
    assert queue.put({"n": 300}).outcome == "queued"
    assert disk.with_name("reports.db.reserve").stat().st_size == 2 * 1024 * 1024


@pytest.mark.parametrize("overflow", ["reject", "drop_oldest"])
def test_nothing_but_errors_of_ours_where_it_cannot_be_opened(
    disk: Path, monkeypatch: pytest.MonkeyPatch, overflow: str
) -> None:
    """Without the space that is kept, puts are refused and the rest waits for space."""
    disk.with_name("reports.db.reserve").unlink()
    fill_up(disk.parent)
    queue = opened(disk, monkeypatch, overflow=overflow)
    for _ in range(2):
        with pytest.raises(QueueFullError, match="bytes on disk"):
            queue.put({"n": 1})
        for step in (queue.take, queue.stats, queue.dead_letters, queue.purge):
            with pytest.raises(StoreUnavailableError, match=r"full|disk"):
                step()
    (disk.parent / "of_others").unlink()
    assert queue.stats().size == 300
    assert queue.put({"n": 1}).outcome == "queued"


def test_processes_that_start_leave_the_reserve_to_those_that_drain(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many producers begin on a full disk, everything can be drained after."""
    disk.with_name("reports.db.reserve").unlink()  # somebody has begun to drain
    for _ in range(12):
        queue = opened(disk, monkeypatch)
        with pytest.raises(QueueFullError, match="bytes on disk"):  # noqa: PT012
            for n in range(2000):
                queue.put({"n": n, "text": TEXT})
        assert free_bytes(disk) > 200_000
    size = queue.stats().size
    drained = 0
    while items := queue.take_many(50):
        drained += len(items)
        assert all(queue.ack_many(items))
    assert drained == size >= 300
