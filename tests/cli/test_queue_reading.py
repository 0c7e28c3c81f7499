"""``policyctl queue`` only reads where nothing else is asked for, and says what to do."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.cli._queue_remedies import OTHERWISE
from policyctl.runtime.queues import Queue, Redis, Sqlite, live

Run = Callable[..., Any]
NOBODY = 65534
READING = ("list", "stats", "peek", "dead", "redrive", "purge")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as name:
        os.chmod(name, 0o755)
        yield Path(name)


def put_into(path: Path) -> Queue[Any]:
    """A queue of three items in a file, in use."""
    live.forget("reading.jobs")
    queue: Queue[Any] = Queue(
        service="reading", queue="jobs", store=Sqlite(path=str(path)), max_size=9
    )
    queue.put_many([{"n": n} for n in range(3)])
    return queue


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file of a folder with its size and the time of its last change."""
    found = {file.name: file.stat() for file in folder.iterdir()}
    return {name: (one.st_size, one.st_mtime_ns) for name, one in found.items()}


@pytest.mark.parametrize("command", READING)
def test_a_closed_file_is_left_as_it_is(
    run_cli: Run, folder: Path, command: str
) -> None:
    """No log, index, lock or reserve is made, and nothing is written."""
    path = folder / "jobs.db"
    put_into(path).close()
    live.forget("reading.jobs")
    for end in (".lock", ".reserve"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    assert sorted(state_of(folder)) == ["jobs.db"]
    before = state_of(folder)
    assert run_cli("queue", command, str(path)).code == 0
    assert state_of(folder) == before


def test_what_is_in_the_log_alone_is_seen(run_cli: Run, folder: Path) -> None:
    """While a program uses the file, its newest items are in the log."""
    queue = put_into(folder / "jobs.db")
    assert (folder / "jobs.db-wal").stat().st_size > 0
    names = sorted(state_of(folder))
    numbers = run_cli("queue", "stats", str(folder / "jobs.db")).out.splitlines()[1]
    assert numbers.split()[:2] == ["jobs", "3"]
    assert sorted(state_of(folder)) == names
    assert queue.put({"n": 4}).outcome == "queued"
    live.forget("reading.jobs")


def test_what_a_killed_program_left_is_seen(run_cli: Run, folder: Path) -> None:
    """Its log is read and stays; the program's next start finds all."""
    queue = put_into(folder / "jobs.db")
    copy = folder / "copy"
    copy.mkdir()
    for end in ("", "-wal", "-shm"):
        shutil.copyfile(folder / f"jobs.db{end}", copy / f"jobs.db{end}")
    queue.close()
    live.forget("reading.jobs")
    for _ in range(2):
        assert " 3 " in run_cli("queue", "stats", str(copy / "jobs.db")).out
    assert (copy / "jobs.db-wal").stat().st_size > 0


def test_a_program_that_writes_meanwhile(run_cli: Run, folder: Path) -> None:
    """A reading that was overtaken by a write is done again."""
    from policyctl.runtime.stores.sqlite_read import ReadOnlyDatabase

    path = folder / "jobs.db"
    put_into(path).close()
    writers: list[Queue[Any]] = []

    def count(connection: sqlite3.Connection) -> int:
        found: tuple[int] = connection.execute(
            "SELECT count(*) FROM items_1"
        ).fetchone()
        if not writers:
            writers.append(put_into(path))
        return found[0]

    assert ReadOnlyDatabase(str(path)).read(count) == 6
    live.forget("reading.jobs")


def test_half_of_a_change_is_no_damage(folder: Path) -> None:
    """What looks like damage while somebody writes is read again."""
    from policyctl.runtime.stores.errors import StoreDamagedError
    from policyctl.runtime.stores.sqlite_read import ReadOnlyDatabase

    path = folder / "jobs.db"
    put_into(path).close()
    looks: list[int] = []

    def look(connection: sqlite3.Connection) -> int:
        found: tuple[int] = connection.execute(
            "SELECT count(*) FROM items_1"
        ).fetchone()
        looks.append(found[0])
        if len(looks) == 1:
            put_into(path).close()
            raise sqlite3.DatabaseError("database disk image is malformed")
        return found[0]

    assert ReadOnlyDatabase(str(path)).read(look) == 6
    with pytest.raises(StoreDamagedError):  # nobody writes: it is damaged
        ReadOnlyDatabase(damaged(folder / "other.db")).read(look)
    live.forget("reading.jobs")


def as_nobody(run: Callable[[], None]) -> int:
    """Run something as a user without rights; 0 if it did not fail."""
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by _exit
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            run()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("in_use", [False, True])
def test_a_folder_that_cannot_be_written(
    run_cli: Run, folder: Path, in_use: bool
) -> None:
    """Whoever may read the files can look into the queues."""
    from policyctl.runtime.queues.admin import open_file

    inner = folder / "closed"
    inner.mkdir()
    path = inner / "jobs.db"
    queue = put_into(path)
    if not in_use:
        queue.close()
    open_file(str(path))["jobs"].stats()  # imports what the child may not find
    for file in inner.iterdir():
        file.chmod(0o444)
    inner.chmod(0o555)

    def look() -> None:
        store = open_file(str(path))["jobs"]
        assert store.stats().ready == 3
        assert len(store.peek(9)) == 3
        try:
            (inner / "more").touch()
        except PermissionError:
            return
        raise AssertionError("the folder can be written")

    try:
        assert as_nobody(look) == 0
    finally:
        inner.chmod(0o755)
        live.forget("reading.jobs")


def test_a_store_that_was_opened_for_reading_refuses_changes(folder: Path) -> None:
    """Nothing is changed by mistake."""
    from policyctl.runtime.queues import StoreUnavailableError
    from policyctl.runtime.queues.admin import open_file
    from policyctl.runtime.queues.records import Change

    put_into(folder / "jobs.db").close()
    store = open_file(str(folder / "jobs.db"))["jobs"]
    with pytest.raises(StoreUnavailableError, match="opened for reading"):
        store.purge(None, 5, Change())
    live.forget("reading.jobs")


def other_database(path: Path) -> str:
    """A database of another program."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (name)")
        connection.commit()
    return str(path)


def damaged(path: Path) -> str:
    """A file of a queue whose first pages are garbage."""
    put_into(path).close()
    live.forget("reading.jobs")
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"\xfe" * 12_000)
    return str(path)


def text(path: Path) -> str:
    """A file of text."""
    path.write_text("this is no database, " * 100)
    return str(path)


@pytest.mark.parametrize(
    ("make", "help"),
    [
        (str, "give the path of the queue, as in its policy"),
        (lambda path: str(path.parent), "give the path of the queue"),
        (text, "it is another kind of file"),
        (other_database, "it is a database of something else"),
        (damaged, "the service that uses it moves it aside"),
    ],
)
def test_remedies_for_files(
    run_cli: Run, folder: Path, make: Callable[[Path], str], help: str
) -> None:
    """Each cause has a help line of its own, and nothing is touched."""
    outcome = run_cli("queue", "stats", make(folder / "jobs.db"))
    assert outcome.code == 2
    first, second = outcome.err.splitlines()[:2]
    assert first.startswith("error: ")
    assert help in second
    assert OTHERWISE not in outcome.err


def test_a_locked_file(
    run_cli: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change waits for others, and says so when it gives up."""
    from policyctl.runtime.stores import sqlite

    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    path = folder / "jobs.db"
    queue = put_into(path)
    item = queue.take()
    assert item is not None
    queue.store.bury(item.taken, "undecodable", "no", queue._change())
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = run_cli("queue", "purge", str(path), "--yes")
        other.execute("ROLLBACK")
    assert outcome.code == 2
    assert "database is locked" in outcome.err
    assert "another process keeps the file locked" in outcome.err
    live.forget("reading.jobs")


def help_of(outcome: Any) -> str:
    """The help line of an error."""
    assert outcome.code == 2
    lines = [line for line in outcome.err.splitlines() if line.startswith("  help: ")]
    assert len(lines) == 1, outcome.err
    return str(lines[0])


def test_remedies_for_addresses(run_cli: Run) -> None:
    """What is wrong with an address, or where nobody answers."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    found = {
        url: help_of(run_cli("queue", "list", url))
        for url in (
            f"redis://127.0.0.1:{port}/0",
            "redis://no-such-host.invalid:6379/0",
            "redis://127.0.0.1:port/0",
            "unix:///no/such/socket",
        )
    }
    refused, unknown, wrong, gone = found.values()
    assert "nothing listens there" in refused
    assert "the name of the host is unknown" in unknown
    assert "write redis://user:password@host:6379/0" in wrong
    assert "there is no such socket" in gone


def test_remedies_for_servers(run_cli: Run, own_valkey: Any) -> None:
    """What a server refuses, each with what to do about it."""
    client = own_valkey.client()
    port = own_valkey.port
    queue: Queue[Any] = Queue(
        service="reading",
        queue="remote",
        store=Redis(key="jobs", url_env="POLICY_REDIS_URL"),
        max_size=3,
    )
    queue.put({"n": 1})
    live.forget("reading.remote")
    assert "number of a database" in help_of(
        run_cli("queue", "list", f"redis://127.0.0.1:{port}/99")
    )
    client.delete("{jobs}:ready")
    client.set("{jobs}:ready", "text")
    wrong = help_of(run_cli("queue", "peek", own_valkey.url))
    assert "holds something of another program" in wrong
    client.execute_command(
        "ACL", "SETUSER", "weak", "on", ">pass", "~*", "+ping", "+info"
    )
    weak = f"redis://weak:pass@127.0.0.1:{port}/0"
    assert "the user lacks rights" in help_of(run_cli("queue", "list", weak))
    bad = f"redis://weak:wrong@127.0.0.1:{port}/0"
    assert "put user and password into the address" in help_of(
        run_cli("queue", "list", bad)
    )
    client.config_set("requirepass", "secret")
    none = help_of(run_cli("queue", "list", own_valkey.url))
    assert "put user and password into the address" in none
