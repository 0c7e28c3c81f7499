"""SF-04: a repair that is cut off by the death of its process is gone on with.

opentelemetry-collector-contrib #35899, solid_queue #324.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from policyctl.runtime.errors import PolicyError
from policyctl.runtime.queues import Queue, Sqlite, live
from policyctl.runtime.stores.sqlite import Database
from policyctl.testing import record_events

ITEMS = 40
DIE = """
import os, sys
from policyctl.runtime.queues import Queue, Sqlite

step, path = int(sys.argv[1]), sys.argv[2]
seen = 0

def watch(event, arguments):
    global seen
    names = ("os.rename", "os.remove", "shutil.copyfile", "sqlite3.connect")
    if event in names or (event == "open" and str(arguments[0]).startswith(path)):
        seen += 1
        if seen == step:
            os._exit(9)

sys.addaudithook(watch)
queue = Queue(service="edge", queue="reports", store=Sqlite(path=path), max_size=100)
queue.stats()
"""


@pytest.fixture
def path(memory_path: Path) -> Path:
    """A file whose items are in its log, and whose first page is gone."""
    path = memory_path / "reports.db"
    queue = opened(path)
    queue.put_many([{"n": n} for n in range(ITEMS)])
    log = path.with_name("reports.db-wal")
    saved = log.read_bytes()
    live.forget("edge.reports")
    path.write_bytes(b"")
    log.write_bytes(saved)
    return path


def opened(path: Path) -> Queue[dict[str, int]]:
    """The queue as a new process opens it."""
    live.forget("edge.reports")
    store = Sqlite(path=str(path))
    return Queue(service="edge", queue="reports", store=store, max_size=100)


def copy_of(path: Path, folder: Path) -> Path:
    """The damaged file with its log in a folder of its own."""
    folder.mkdir()
    for file in path.parent.glob("reports.db*"):
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return folder / path.name


def test_death_at_any_step_loses_nothing(path: Path) -> None:
    """Whatever file the process was about to touch, the next one has all items."""
    step = 0
    for step in itertools.count(1):
        damaged = copy_of(path, path.parent / str(step))
        command = [sys.executable, "-c", DIE, str(step), str(damaged)]
        died = subprocess.run(command, check=False).returncode
        queue = opened(damaged)
        with record_events() as events:
            assert queue.stats().size == ITEMS, step
        if not died:
            break
        assert died == 9
        assert [e.data["salvaged"] for e in events.of("queue_recovered")] in (
            [ITEMS],
            [],
        )
        assert not damaged.with_name("reports.db.repair").exists(), step
        live.forget("edge.reports")
    live.forget("edge.reports")
    assert step > 6


def test_no_space_for_the_repair(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error that tells of it, and done when there is space again."""
    from policyctl.runtime.queues import recovery
    from policyctl.runtime.stores.errors import StoreFullError

    def full(database: Database, found: object) -> None:
        raise StoreFullError("database or disk is full")

    queue = opened(path)
    with monkeypatch.context() as patched:
        patched.setattr(recovery, "_write", full)
        for _ in range(2):
            with pytest.raises(PolicyError, match="no space to repair it"):
                queue.put({"n": 99})
    assert queue.stats().size == ITEMS
    assert len([n for n in os.listdir(path.parent) if "damaged" in n]) <= 2
    live.forget("edge.reports")


def test_no_space_for_the_copy_that_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be read for want of space is not taken for lost."""
    import errno
    import shutil

    def full(*_paths: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    queue = opened(path)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", full)
        with pytest.raises(PolicyError, match="no space to repair it"):
            queue.stats()
    assert queue.stats().size == ITEMS
    live.forget("edge.reports")


@pytest.mark.parametrize("note", [b"", b"\x00" * 40, b"\xff/../x", b"/etc/x"])
def test_a_note_that_says_nothing(path: Path, note: bytes) -> None:
    """The file that is there is repaired as if there were no note."""
    path.with_name("reports.db.repair").write_bytes(note)
    assert opened(path).stats().size == ITEMS
    assert not path.with_name("reports.db.repair").exists()
    live.forget("edge.reports")
