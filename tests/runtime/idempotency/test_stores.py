"""What every store of records promises: memory, SQLite and Redis alike (C29)."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import IdempotencyConflictError
from policyctl.runtime.idempotency.memory import MemoryStore
from policyctl.runtime.idempotency.redis import PREFIX, RedisStore
from policyctl.runtime.idempotency.sqlite import SqliteStore
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.stores.errors import StoreUnavailableError

if TYPE_CHECKING:
    from policyctl.runtime.idempotency.memory import Store

STORES = ("memory", "sqlite", "redis")
OUTSIDE = ("sqlite", "redis")
Open = Callable[[str], "Store"]
Make = Callable[..., Policy]


@pytest.fixture
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """``open_store(kind)``: a store as one process has it; the same one each time."""
    memory = MemoryStore()

    def make(kind: str) -> Store:
        if kind == "sqlite":
            return SqliteStore(str(tmp_path / "keys.db"), 1000)
        if kind == "redis":
            request.getfixturevalue("valkey")
            return RedisStore("POLICY_REDIS_URL", 1000, "pay.charge")
        return memory

    return make


@pytest.fixture
def pay(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """``pay(kind, **changes)``: the policy pay.charge as one process has it."""

    def make(kind: str, **changes: Any) -> Policy:
        block: dict[str, Any] = {"key": ("key",), "store": kind, **changes}
        if kind == "sqlite":
            block.setdefault("path", str(tmp_path / "keys.db"))
        elif kind == "redis":
            request.getfixturevalue("valkey")
        policy = Policy(
            service="pay",
            operation="charge",
            retry=settings.Retry(max_attempts=1, never_retry_on=("KeyError",)),
            idempotency=settings.Idempotency(**block),
        )
        registry.forget("pay.charge")
        return policy

    return make


@pytest.mark.parametrize("kind", STORES)
def test_the_life_of_a_key(open_store: Open, kind: str) -> None:
    """Taken once, kept from others, done, and the outcome is for everybody."""
    store = open_store(kind)
    assert store.claim("k", "print", "one", 5.0) is None
    found = store.claim("k", "print", "two", 5.0)
    assert found is not None
    assert (found.fingerprint, found.owner, found.payload) == ("print", "one", None)
    assert not store.complete("k", "two", b"theirs", 5.0)
    assert store.complete("k", "one", b"ours \x00\xff", 5.0)
    done = store.claim("k", "print", "two", 5.0)
    assert done is not None
    assert done.payload == b"ours \x00\xff"
    store.release("k", "one")
    again = store.claim("k", "print", "two", 5.0)
    assert again is not None
    assert again.payload == b"ours \x00\xff"


@pytest.mark.parametrize("kind", STORES)
def test_a_key_is_given_back_by_its_owner_alone(open_store: Open, kind: str) -> None:
    """Release frees it, but not for somebody else."""
    store = open_store(kind)
    assert store.claim("k", "p", "one", 5.0) is None
    store.release("k", "two")
    assert store.claim("k", "p", "two", 5.0) is not None
    store.release("k", "one")
    assert store.claim("k", "p", "two", 5.0) is None


@pytest.mark.timing
@pytest.mark.parametrize("kind", STORES)
def test_a_late_loser_never_overwrites(open_store: Open, kind: str) -> None:
    """ID-03: whose time was over has no say, while the winner runs and afterwards."""
    store = open_store(kind)
    assert store.claim("k", "p", "slow", 0.03) is None
    time.sleep(0.05)
    assert store.claim("k", "p", "fast", 5.0) is None
    assert not store.complete("k", "slow", b"A", 5.0)
    store.release("k", "slow")
    assert store.complete("k", "fast", b"B", 5.0)
    assert not store.complete("k", "slow", b"A", 5.0)
    found = store.claim("k", "p", "third", 5.0)
    assert found is not None
    assert found.payload == b"B"


@pytest.mark.parametrize("kind", OUTSIDE)
def test_asking_again_after_a_lost_reply(open_store: Open, kind: str) -> None:
    """RQ-13: the owner's second claim finds the key its own."""
    store = open_store(kind)
    assert store.claim("k", "p", "one", 5.0) is None
    assert store.claim("k", "p", "one", 5.0) is None
    assert store.claim("k", "p", "two", 5.0) is not None


@pytest.mark.parametrize("kind", STORES)
def test_clear_forgets_everything(open_store: Open, kind: str) -> None:
    """Every key is free again."""
    store = open_store(kind)
    for number in range(3):
        assert store.claim(f"pay.charge:{number}", "p", "one", 5.0) is None
    store.clear()
    for number in range(3):
        assert store.claim(f"pay.charge:{number}", "p", "two", 5.0) is None


def test_clear_leaves_other_operations_alone(valkey: Any) -> None:
    """A shared server holds the records of others."""
    ours = RedisStore("POLICY_REDIS_URL", 1000, "pay.charge")
    theirs = RedisStore("POLICY_REDIS_URL", 1000, "pay.charge_back")
    assert ours.claim("pay.charge:1", "p", "one", 5.0) is None
    assert theirs.claim("pay.charge_back:1", "p", "one", 5.0) is None
    ours.clear()
    assert valkey.client().keys("*") == [f"{PREFIX}pay.charge_back:1".encode()]


@pytest.mark.parametrize("kind", OUTSIDE)
async def test_results_are_replayed_to_other_processes(pay: Make, kind: str) -> None:
    """One effect: the second process gets the first one's result, sync and async."""
    one, two = pay(kind), pay(kind)
    ran: list[str] = []

    def charge(key: str) -> dict[str, Any]:
        ran.append(key)
        return {"id": 7, "when": (1, 2)}

    async def charge_async(key: str) -> dict[str, Any]:
        ran.append(key)
        return {"id": 8}

    assert one.call(charge, "a") == {"id": 7, "when": (1, 2)}
    assert two.call(charge, "a") == {"id": 7, "when": (1, 2)}
    assert await two.call(charge_async, "b") == {"id": 8}
    assert one.call(charge, "b") == {"id": 8}
    assert ran == ["a", "b"]


@pytest.mark.parametrize("kind", OUTSIDE)
def test_errors_that_stand_are_replayed(pay: Make, kind: str) -> None:
    """never_retry_on: raised again; every other error frees the key."""
    one, two = pay(kind), pay(kind)
    errors: list[Exception] = [KeyError("no such card"), ValueError("down")]

    def charge(key: str) -> None:
        raise errors[key == "b"]

    for policy in (one, two):
        with pytest.raises(KeyError, match="no such card"):
            policy.call(charge, "a")
        with pytest.raises(ValueError, match="down"):
            policy.call(charge, "b")
    assert two.call(lambda key: 5, "b") == 5


@pytest.mark.parametrize("kind", OUTSIDE)
def test_other_arguments_are_a_conflict(pay: Make, kind: str) -> None:
    """The same key for another amount is refused, by the other process too."""
    one, two = pay(kind), pay(kind)

    def charge(key: str, amount: int) -> int:
        return amount

    assert one.call(charge, "a", 5) == 5
    with pytest.raises(IdempotencyConflictError):
        two.call(charge, "a", 6)


@pytest.mark.timing
@pytest.mark.parametrize("kind", OUTSIDE)
async def test_others_wait_or_are_refused(pay: Make, kind: str) -> None:
    """While the first runs, the second waits for its result, or is refused."""
    one, two, strict = pay(kind), pay(kind), pay(kind, on_conflict="reject")
    gate = asyncio.Event()

    running = asyncio.Event()

    async def charge(key: str) -> str:
        running.set()
        await gate.wait()
        return "done"

    first = asyncio.ensure_future(one.call(charge, "a"))
    await running.wait()
    second = asyncio.ensure_future(two.call(charge, "a"))
    with pytest.raises(IdempotencyConflictError):
        await strict.call(charge, "a")
    await asyncio.sleep(0.05)
    assert not second.done()
    gate.set()
    assert [await first, await second] == ["done", "done"]


@pytest.mark.timing
@pytest.mark.parametrize("kind", OUTSIDE)
def test_many_threads_and_processes_have_one_effect(
    pay: Make, kind: str, tmp_path: Path
) -> None:
    """Two processes with eight threads each and one key: it runs once."""
    pay(kind)
    path = f"path={str(tmp_path / 'keys.db')!r}, " if kind == "sqlite" else ""
    code = (
        "import threading\n"
        "from policyctl.runtime import settings\n"
        "from policyctl.runtime.policy import Policy\n"
        f"block = settings.Idempotency(key=('key',), {path}store={kind!r})\n"
        "ran = []\n"
        "@Policy(service='pay', operation='charge', idempotency=block)\n"
        "def charge(key):\n"
        "    ran.append(key)\n"
        "    return 1\n"
        "def all():\n"
        "    for number in range(10):\n"
        "        charge(f'k{number}')\n"
        "threads = [threading.Thread(target=all) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "print(len(ran))\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    assert sum(int(process.communicate()[0]) for process in started) == 10


@pytest.mark.timing
@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_killed_process_frees_its_key_in_time(
    pay: Make, kind: str, tmp_path: Path
) -> None:
    """ID-01: after ``in_progress`` another process runs the call."""
    mine = pay(kind, in_progress=0.4)
    path = f"path={str(tmp_path / 'keys.db')!r}, " if kind == "sqlite" else ""
    code = (
        "import os\n"
        "from policyctl.runtime import settings\n"
        "from policyctl.runtime.policy import Policy\n"
        "block = settings.Idempotency(\n"
        f"    key=('key',), {path}in_progress=0.4, store={kind!r})\n"
        "@Policy(service='pay', operation='charge', idempotency=block)\n"
        "def charge(key):\n"
        "    os._exit(9)\n"
        "charge('a')\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    start = time.monotonic()
    assert mine.call(lambda key: "ran", "a") == "ran"
    assert time.monotonic() - start < 2.0


@pytest.mark.timing
@pytest.mark.parametrize("kind", OUTSIDE)
async def test_a_cancelled_call_frees_its_key_at_once(pay: Make, kind: str) -> None:
    """ID-01: CancelledError and KeyboardInterrupt remove the mark."""
    one, two = pay(kind), pay(kind)

    running = asyncio.Event()

    async def hang(key: str) -> None:
        running.set()
        await asyncio.sleep(60)

    def interrupted(key: str) -> None:
        raise KeyboardInterrupt

    task = asyncio.ensure_future(one.call(hang, "a"))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(KeyboardInterrupt):
        one.call(interrupted, "b")
    start = time.monotonic()
    assert two.call(lambda key: 1, "a") == 1
    assert two.call(lambda key: 1, "b") == 1
    assert time.monotonic() - start < 0.5


@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_result_that_is_too_large(
    pay: Make, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is given to the caller, not kept; a repetition is an error and no second run."""
    one, two = pay(kind), pay(kind)
    large = "x" * (1 << 20)
    ran: list[str] = []

    def charge(key: str) -> str:
        ran.append(key)
        return large

    assert one.call(charge, "a") == large
    assert "1048579 bytes are over the limit of 1048576" in caplog.text
    with pytest.raises(Exception, match="its result is lost"):
        two.call(charge, "a")
    assert ran == ["a"]


def test_a_store_that_is_away_refuses_the_call(
    own_valkey: Any, pay: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the store nothing may run; a call that ran keeps its result."""
    block = settings.Idempotency(key=("key",), store="redis")
    policy = Policy(service="pay", operation="charge", idempotency=block)
    registry.forget("pay.charge")

    def charge(key: str) -> str:
        own_valkey.stop()
        return "charged"

    assert policy.call(charge, "a") == "charged"
    assert "the outcome of a call" in caplog.text
    with pytest.raises(
        StoreUnavailableError, match=r"pay\.charge: store redis://"
    ) as e:
        policy.call(charge, "b")
    assert (e.value.service, e.value.operation) == ("pay", "charge")


def test_a_fallback_answers_where_the_store_is_away(own_valkey: Any) -> None:
    """A rejection like others: fallback_on can name it."""
    own_valkey.stop()
    policy = Policy(
        service="pay",
        operation="charge",
        idempotency=settings.Idempotency(key=("key",), store="redis"),
        fallback=settings.FallbackValue(
            value="later", fallback_on=(StoreUnavailableError,)
        ),
    )
    registry.forget("pay.charge")
    assert policy.call(lambda key: "now", "a") == "later"


def test_nothing_is_opened_at_import(tmp_path: Path, monkeypatch: Any) -> None:
    """C41: making the policy makes no file."""
    path = tmp_path / "folder" / "keys.db"
    block = settings.Idempotency(key=("key",), store="sqlite", path=str(path))
    policy = Policy(service="pay", operation="charge", idempotency=block)
    registry.forget("pay.charge")
    assert not path.parent.exists()
    policy.call(lambda key: 1, "a")
    assert path.exists()


def test_a_damaged_file_is_moved_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The program goes on with a new file, and the log says what that means."""
    path = tmp_path / "keys.db"
    store = SqliteStore(str(path), 1000)
    assert store.claim("k", "p", "one", 5.0) is None
    store._database.close()
    path.write_bytes(b"this is no database at all" * 200)
    assert store.claim("k", "p", "two", 5.0) is None
    assert store.claim("k", "p", "one", 5.0) is not None
    assert "is damaged" in caplog.text
    assert len(list(tmp_path.glob("keys.db.damaged-*"))) >= 1


@pytest.mark.timing
def test_expired_records_leave_the_file(tmp_path: Path) -> None:
    """Claims sweep what is over, a bounded number each."""
    store = SqliteStore(str(tmp_path / "keys.db"), 1000)
    for number in range(20):
        store.claim(f"k{number}", "p", "one", 0.02)
    time.sleep(0.03)
    store.claim("last", "p", "one", 5.0)
    with sqlite3.connect(tmp_path / "keys.db") as connection:
        rows = connection.execute("SELECT key FROM idempotency").fetchall()
    assert rows == [("last",)]


def test_a_wall_clock_that_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CB-16: by a day, and a record lasts at most its own length longer."""
    from policyctl.runtime.idempotency import sqlite

    wall = [10**15]
    monkeypatch.setattr(sqlite, "wall_micros", lambda: wall[0])
    store = SqliteStore(str(tmp_path / "keys.db"), 1000)
    assert store.claim("k", "p", "one", 5.0) is None
    wall[0] -= 86_400_000_000
    assert store.claim("k", "p", "two", 5.0) is not None
    wall[0] += 4_900_000
    assert store.claim("k", "p", "two", 5.0) is not None
    wall[0] += 200_000
    assert store.claim("k", "p", "two", 5.0) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_forked_child_uses_the_store(pay: Make, kind: str) -> None:
    """C41: with connections of its own; the parent's go on."""
    policy = pay(kind)
    assert policy.call(lambda key: 1, "a") == 1
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            replayed = policy.call(lambda key: 2, "a") == 1
            code = 0 if replayed and policy.call(lambda key: 3, "b") == 3 else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert policy.call(lambda key: 4, "b") == 3


@pytest.mark.timing
@pytest.mark.parametrize("kind", OUTSIDE)
async def test_a_store_never_blocks_the_loop(
    pay: Make, kind: str, tmp_path: Path, own_valkey: Any
) -> None:
    """While a store does not answer, other tasks of the loop go on."""
    policy = pay(kind) if kind == "sqlite" else _at(own_valkey)
    policy.call(lambda key: 1, "first")
    holder = None
    if kind == "sqlite":
        holder = sqlite3.connect(tmp_path / "keys.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
    else:
        own_valkey.freeze(True)
    done = threading.Event()

    async def call(key: str) -> int:
        return 1

    task = asyncio.ensure_future(policy.call(call, "a"))
    try:
        longest, last = 0.0, time.monotonic()
        for _ in range(30):
            await asyncio.sleep(0.01)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        assert longest < 0.2
        assert not task.done()
    finally:
        done.set()
        if holder is not None:
            holder.execute("COMMIT")
            holder.close()
        else:
            own_valkey.freeze(False)
    assert await task == 1


def _at(server: Any) -> Policy:
    policy = Policy(
        service="pay",
        operation="charge",
        idempotency=settings.Idempotency(key=("key",), store="redis"),
    )
    registry.forget("pay.charge")
    return policy


def test_one_log_line_for_each_lost_outcome(
    own_valkey: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be stored is reported with its operation."""
    caplog.set_level(logging.ERROR, "policyctl")
    policy = _at(own_valkey)
    policy.call(lambda key: own_valkey.stop(), "a")
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith("pay.charge: the outcome of")
