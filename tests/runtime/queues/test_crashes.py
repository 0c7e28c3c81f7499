"""SQLite: kill -9 at any statement, many processes, forks (C33, C41)."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues import DeadLetter, Queue, Redelivery, Sqlite, live
from policyctl.runtime.stores import sqlite as store_sqlite
from policyctl.testing import FakeClock

NOW = Redelivery(initial=0.0, max=0.0)


@pytest.fixture
def folder(memory_path: Path) -> Path:
    """Where the files are."""
    return memory_path


def queue_at(path: Path, **changes: Any) -> Queue[Any]:
    """The queue in a file, opened anew."""
    live.forget("crash.work")
    settings: dict[str, Any] = {
        "max_size": 20,
        "max_deliveries": 2,
        "redelivery": NOW,
        "lease": 30.0,
        **changes,
    }
    return Queue(
        service="crash", queue="work", store=Sqlite(path=str(path)), **settings
    )


def audit(path: Path) -> tuple[set[str], set[str]]:
    """Ids of items and of dead letters; every id is in one place and totals are right."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        items = connection.execute("SELECT id, length(body) FROM items_1").fetchall()
        dead = connection.execute("SELECT id FROM dead_1").fetchall()
        totals = connection.execute("SELECT size, bytes, dead FROM queues").fetchone()
        check = connection.execute("PRAGMA integrity_check").fetchone()
    living, gone = {row[0] for row in items}, {row[0] for row in dead}
    assert check == ("ok",)
    assert living & gone == set()
    assert totals == (len(items), sum(row[1] for row in items), len(dead))
    return living, gone


def in_child(run: Callable[[Callable[[str], None]], None]) -> tuple[list[str], int]:
    """Run in a forked process; what it said until its end, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - it ends by a signal or by _exit
        try:
            os.close(reading)
            pipe = open(writing, "w", buffering=1)  # noqa: SIM115
            run(lambda text: print(text, file=pipe))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read().split()
    _, status = os.waitpid(child, 0)
    return said, status


def killed_at(statement: int) -> None:  # pragma: no cover - runs in a child
    """From now on, die before the given statement of new connections."""
    count = 0
    original = store_sqlite.connect

    def before(_sql: str) -> None:
        nonlocal count
        count += 1
        if count == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect(path: Any, **options: Any) -> sqlite3.Connection:
        connection = original(path, **options)
        connection.set_trace_callback(before)
        return connection

    store_sqlite.connect = connect


def work_through(say: Callable[[str], None], path: Path) -> None:
    """Every kind of step once; says what was acknowledged before it could die."""
    queue = queue_at(path, max_size=3, overflow="dead_letter", order_by="key")
    for n in range(4):
        say("put:" + queue.put({"key": n % 2, "n": n}).id)
    items = queue.take_many(2)
    if items and items[0].ack():
        say("ack:" + items[0].id)
    for item in items[1:]:
        item.extend()
        item.nack("no")
    again = queue.take()
    if again is not None:
        again.nack("no")  # its second delivery: it becomes a dead letter
    queue.redrive()
    queue.put_many([{"key": 0, "n": n} for n in (8, 9)])


def test_kill_at_every_statement_loses_nothing(folder: Path) -> None:
    """Whatever was acknowledged is there, in one place, until it was acked."""
    statement, deaths = 0, 0
    with FakeClock() as clock:
        while True:
            statement += 1
            path = folder / f"{statement}.db"

            def run(
                say: Callable[[str], None],
                path: Path = path,
                statement: int = statement,
            ) -> None:
                killed_at(statement)
                work_through(say, path)
                say("end")

            said, status = in_child(run)
            deaths += os.WIFSIGNALED(status)
            check_after_death(path, said)
            clock.advance(31.0)
            if said[-1:] == ["end"]:
                break
    live.forget("crash.work")
    assert deaths == statement - 1
    assert deaths > 100


def check_after_death(path: Path, said: list[str]) -> None:
    """The next process finds a whole file and everything that was acknowledged."""
    queue = queue_at(path, max_deliveries=None)
    queue.stats()
    living, gone = audit(path)
    put = [text[4:] for text in said if text.startswith("put:")]
    acked = {text[4:] for text in said if text.startswith("ack:")}
    missing = set(put) - living - gone - acked
    # An ack may have been done and its answer lost.
    assert len(missing) <= (0 if acked else 1)
    queue.close()


def test_a_repeated_put_after_death_is_one_item(folder: Path) -> None:
    """A client that does not know whether its put was done puts it again."""
    path = folder / "q.db"
    for statement in range(1, 40):

        def run(say: Callable[[str], None], statement: int = statement) -> None:
            killed_at(statement)
            queue_at(path).put({"n": 1}, id="one")
            say("end")

        said, _ = in_child(run)
        if said == ["end"]:
            break
    assert queue_at(path).stats().put == 1
    assert audit(path)[0] == {"one"}


def produce(path: Path, number: int) -> Callable[[Callable[[str], None]], None]:
    """Put as long as there is room and say the ids."""

    def run(say: Callable[[str], None]) -> None:
        queue = queue_at(path, max_size=40)
        for n in range(100):
            try:
                say(queue.put({"from": number, "n": n}).id)
            except QueueFullError:
                return

    return run


def spawn(run: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Fork a process; its number and the pipe that it talks on."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by _exit
        status = 1
        try:
            os.close(reading)
            pipe = open(writing, "w", buffering=1)  # noqa: SIM115
            run(lambda text: print(text, file=pipe))
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


def test_fifty_producers_never_pass_the_limit(folder: Path) -> None:
    """Of 50 processes exactly as many puts are accepted as there is room."""
    path = folder / "q.db"
    said = gather([spawn(produce(path, n)) for n in range(50)])
    assert len(said) == len(set(said)) == 40
    assert audit(path)[0] == set(said)


def test_producers_and_consumers_share_a_file(folder: Path) -> None:
    """Everything that 6 processes put is taken by 4 others exactly once."""
    path = folder / "q.db"

    def consume(say: Callable[[str], None]) -> None:
        queue = queue_at(path, max_size=1000)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            items = queue.take_many(5, timeout=0.2)
            for item in items:
                if item.payload == "stop" or item.payload.get("stop"):
                    item.ack()
                    return
                if item.ack():
                    say(item.id)

    def put(say: Callable[[str], None]) -> None:
        queue = queue_at(path, max_size=1000)
        for _ in range(5):
            for done in queue.put_many([{"n": n} for n in range(4)]):
                say(done.id)

    consumers = [spawn(consume) for _ in range(4)]
    put_ids = gather([spawn(put) for _ in range(6)])
    queue = queue_at(path, max_size=1000)
    until = time.monotonic() + 60
    while queue.stats().ready and time.monotonic() < until:
        time.sleep(0.02)
    for _ in range(4):
        queue.put({"stop": True})
        while queue.stats().ready and time.monotonic() < until:
            time.sleep(0.02)
    taken = gather(consumers)
    assert sorted(taken) == sorted(put_ids)
    assert queue.stats().acked == 124


def test_threads_share_one_queue_object(folder: Path) -> None:
    """Eight threads put and take at once; nothing is lost or doubled."""
    queue = queue_at(folder / "q.db", max_size=1000)
    taken: list[int] = []

    def run(number: int) -> None:
        for n in range(10):
            queue.put({"n": number * 10 + n})
            item = queue.take()
            if item is not None and item.ack():
                taken.append(item.payload["n"])

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken += [item.payload["n"] for item in queue.take_many(100)]
    assert sorted(taken) == list(range(80))


def test_a_child_process_goes_on_after_a_fork(folder: Path) -> None:
    """A fork while a connection is open harms neither side."""
    queue = queue_at(folder / "q.db")
    queue.put({"n": 1})

    def run(say: Callable[[str], None]) -> None:
        item = queue.take()
        if item is not None:
            queue.put({"n": item.payload["n"] + 1})
            say(str(item.ack()))

    said, status = in_child(run)
    assert (said, status) == (["True"], 0)
    assert queue.put({"n": 3}).outcome == "queued"
    assert [item.payload["n"] for item in queue.take_many(9)] == [2, 3]


def test_a_poisonous_item_ends_in_the_dead_letters(folder: Path) -> None:
    """A handler that kills its process does so max_deliveries times; others flow on."""
    path = folder / "q.db"
    with FakeClock() as clock:
        queue_at(path).put_many([{"poison": n == 0} for n in range(3)])

        def run(say: Callable[[str], None]) -> None:
            queue = queue_at(path)
            while (item := queue.take()) is not None:
                if item.payload["poison"]:
                    os.kill(os.getpid(), signal.SIGKILL)
                item.ack()
                say("done")

        ends = []
        for _ in range(3):
            said, status = in_child(run)
            ends.append((len(said), os.WIFSIGNALED(status)))
            clock.advance(31.0)
    assert ends == [(0, True), (0, True), (2, False)]
    (dead,) = queue_at(path).dead_letters()
    assert (dead.reason, dead.deliveries) == ("max_deliveries", 2)


def test_a_restart_of_the_machine_returns_leases(folder: Path) -> None:
    """A monotonic clock that starts anew means that every holder is gone."""
    path = folder / "q.db"
    with FakeClock(start=50_000.0):
        queue = queue_at(path)
        queue.put_many([{"n": 1}, {"n": 2}])
        first = queue.take()
        second = queue.take()
        assert first is not None
        assert second is not None
        second.nack(delay=3600.0)
    with FakeClock(start=10.0):
        queue = queue_at(path)
        assert [item.payload["n"] for item in queue.take_many(5)] == [1, 2]


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0 * 400])
def test_jumps_of_the_wall_clock_change_no_lease(
    folder: Path, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases and delays do not look at the time of day."""
    queue = queue_at(folder / "q.db", dead_letter=DeadLetter(max_size=5))
    queue.put_many([{"n": 1}, {"n": 2}])
    assert queue.take() is not None
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert [item.payload["n"] for item in queue.take_many(5)] == [2]
    assert queue.stats().leased == 2
