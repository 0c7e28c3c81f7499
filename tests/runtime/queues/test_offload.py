"""Blocking steps in threads: as many as are needed, and no answer is lost or kept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Redis, Sqlite, live, offload
from policyctl.runtime.queues.offload import in_thread
from policyctl.runtime.queues.records import Change, Entry
from policyctl.runtime.stores.errors import StoreUnavailableError

SIZES = iter(range(30, 100))


@pytest.fixture
def size() -> int:
    """A number of threads that no other test asks for, so that none is there yet."""
    return next(SIZES)


async def test_one_after_the_other_needs_one_thread(size: int) -> None:
    """A thread that is free is used again."""
    names = {
        await in_thread(lambda: threading.current_thread().name, threads=size)
        for _ in range(20)
    }
    assert len(names) == 1


async def test_at_once_needs_as_many(size: int) -> None:
    """Steps that wait for each other all run, up to the number of threads."""
    inside = threading.Barrier(size, timeout=60)
    calls = [in_thread(inside.wait, threads=size) for _ in range(size)]
    assert sorted(await asyncio.gather(*calls)) == list(range(size))


async def test_errors_come_out(size: int) -> None:
    """A step's error is its caller's, and the thread goes on."""

    def fail() -> None:
        raise ValueError("no")

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            await in_thread(fail, threads=size)
    assert await in_thread(lambda: 1, threads=size) == 1


async def test_what_a_cancelled_caller_would_have_got_is_undone(size: int) -> None:
    """The step ends in its own time, and then takes back what it did."""
    begun, go, undone = threading.Event(), threading.Event(), threading.Event()
    given: list[str] = []

    def work() -> str:
        begun.set()
        assert go.wait(60)
        return "an item"

    def undo(what: str) -> None:
        given.append(what)
        undone.set()

    task = asyncio.create_task(in_thread(work, undo, threads=size))
    assert await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert given == []
    go.set()
    assert await asyncio.to_thread(undone.wait, 60)
    assert given == ["an item"]


async def test_a_result_that_is_on_its_way_is_undone(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller cancelled after the step ended, before the loop hears of it, loses nothing."""
    ended, go, undone = threading.Event(), threading.Event(), threading.Event()
    given: list[str] = []

    def fulfil(future: Future[Any], run: Callable[[], Any]) -> None:
        result = run()
        ended.set()
        assert go.wait(60)
        future.set_result(result)

    def undo(what: str) -> None:
        given.append(what)
        undone.set()

    with monkeypatch.context() as patched:
        patched.setattr(offload, "_fulfil", fulfil)
        task = asyncio.create_task(in_thread(lambda: "an item", undo, threads=size))
        assert await asyncio.to_thread(ended.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(undone.wait, 60)
    assert given == ["an item"]


async def test_many_tasks_on_a_server(valkey: Any) -> None:
    """300 puts and takes at once: every item goes to one task, none is lost."""
    queue: Queue[Any] = Queue(
        service="offload",
        queue="tasks",
        store=Redis(key="tasks", url_env="POLICY_REDIS_URL"),
        max_size=1000,
    )
    put = await asyncio.gather(*(queue.aput({"n": n}) for n in range(300)))
    taking = [asyncio.create_task(queue.atake(timeout=5.0)) for _ in range(300)]
    for task in taking[::3]:
        task.cancel()
    taken = await asyncio.gather(*taking, return_exceptions=True)
    items = [
        one for one in taken if one is not None and not isinstance(one, BaseException)
    ]
    while queue.stats().leased != len(items):  # what was cancelled is on its way back
        await asyncio.sleep(0.01)
    left = await queue.atake_many(300)
    assert all(await queue.aack_many([*items, *left]))
    assert sorted(one.id for one in (*items, *left)) == sorted(one.id for one in put)
    assert (queue.stats().size, queue.stats().acked) == (0, 300)
    live.forget("offload.tasks")


@pytest.mark.parametrize("fails", [False, True])
async def test_good_items_beside_a_bad_one_are_not_kept(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """A take that ends while it puts away what cannot be decoded gives the rest back, or out."""
    queue: Queue[Any] = Queue(
        service="offload",
        queue="mixed",
        store=Sqlite(path=str(memory_path / "mixed.db")),
        max_size=9,
    )
    bodies = (b"{}", b"no JSON", b"{}")
    entries = [Entry(str(n), body, None, True) for n, body in enumerate(bodies)]
    queue.store.put(entries, Change())
    begun, go = threading.Event(), threading.Event()

    def bury(*arguments: Any) -> bool:
        begun.set()
        if fails:
            raise StoreUnavailableError("", "", "the file", "it is away")
        return go.wait(60)

    with monkeypatch.context() as patched:
        patched.setattr(queue.store, "bury", bury)
        task = asyncio.create_task(queue.atake_many(3))
        assert await asyncio.to_thread(begun.wait, 60)
        if fails:
            assert [item.id for item in await task] == ["0", "2"]
            assert queue.stats().leased == 3
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while queue.stats().leased:
                await asyncio.sleep(0.001)
        go.set()
    if not fails:
        assert [item.deliveries for item in queue.take_many(3)] == [1, 1]
        assert [letter.id for letter in queue.dead_letters()] == ["1"]
    live.forget("offload.mixed")
