"""One effect for each key, for sync and async callers alike (C29)."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.classify import Classifier
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import IdempotencyConflictError, PolicyConfigError
from policyctl.runtime.idempotency import Guard, forwarded_headers, forwarded_key
from policyctl.runtime.idempotency.memory import MemoryStore
from policyctl.testing import fake_clock


class Declined(Exception):
    """An error that stands: never_retry_on names it."""

    def __init__(self, code: int, *, reason: str) -> None:
        super().__init__(code)
        self.reason = reason


def make(longest_wait: float | None = None, **changes: Any) -> Guard:
    """A guard for pay.charge with the argument ``key`` as its key."""
    declared: dict[str, Any] = {"key": ("key",), **changes}
    rules = Classifier(
        "pay", "charge", retry=settings.Retry(never_retry_on=(Declined,))
    )
    block = settings.Idempotency(**declared)
    return Guard("pay.charge", block, rules, longest_wait)


Run = Callable[..., Awaitable[Any]]


async def run_async(guard: Guard, fn: Any, *args: Any, **kwargs: Any) -> Any:
    """A guarded call as the engine makes it from a coroutine."""
    ticket = await guard.enter_async(fn, args, kwargs)
    if ticket.replayed:
        if ticket.error is not None:
            raise ticket.error
        return ticket.result
    ticket.open()
    try:
        args, kwargs = ticket.arguments(fn, args, kwargs)
        result = fn(*args, **kwargs)
        if hasattr(result, "__await__"):
            result = await result
    except BaseException as error:
        await ticket.settle_async(None, error)
        raise
    await ticket.settle_async(result, None)
    return result


def run_sync(guard: Guard, fn: Any, *args: Any, **kwargs: Any) -> Any:
    """A guarded call as the engine makes it from a thread."""
    ticket = guard.enter(fn, args, kwargs)
    if ticket.replayed:
        if ticket.error is not None:
            raise ticket.error
        return ticket.result
    ticket.open()
    try:
        args, kwargs = ticket.arguments(fn, args, kwargs)
        result = fn(*args, **kwargs)
    except BaseException as error:
        ticket.settle(None, error)
        raise
    ticket.settle(result, None)
    return result


async def run_sync_form(guard: Guard, fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The sync form behind the async one's interface."""
    return run_sync(guard, fn, *args, **kwargs)


@pytest.fixture(params=[run_async, run_sync_form], ids=["async", "sync"])
def run(request: pytest.FixtureRequest) -> Run:
    """Both forms of a guarded call."""
    form: Run = request.param
    return form


class Api:
    """Counts its effects; ``outcomes`` are returned or raised in turn, the last on."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.entries: list[Any] = []

    def charge(self, key: object, amount: int = 1, idempotency_key: Any = None) -> Any:
        """The guarded function."""
        self.entries.append(idempotency_key)
        outcome = self.outcomes[0]
        if len(self.outcomes) > 1:
            self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


async def test_the_same_key_runs_once(run: Run) -> None:
    """The second call gets an equal result of its own; another key runs."""
    guard, api = make(), Api({"id": 1, "items": (1, 2)})
    first = await run(guard, api.charge, "k")
    second = await run(guard, api.charge, key="k")
    assert first == second == {"id": 1, "items": (1, 2)}
    assert first is not second
    assert len(api.entries) == 1
    await run(guard, api.charge, "other")
    assert len(api.entries) == 2


async def test_defaults_and_spelling_of_arguments_do_not_matter(run: Run) -> None:
    """Positional, keyword and defaulted arguments are one call."""
    guard, api = make(), Api(None)
    await run(guard, api.charge, "k", 1)
    await run(guard, api.charge, key="k", amount=1)
    await run(guard, api.charge, "k")
    assert len(api.entries) == 1


async def test_other_arguments_are_a_conflict(run: Run) -> None:
    """A key that is used for another call names neither result nor effect."""
    guard, api = make(), Api("ok")
    await run(guard, api.charge, "k", 1)
    with pytest.raises(IdempotencyConflictError) as caught:
        await run(guard, api.charge, "k", 2)
    assert (caught.value.key, caught.value.conflict) == ("k", "arguments")
    assert (caught.value.service, caught.value.operation) == ("pay", "charge")
    assert len(api.entries) == 1


async def test_an_error_that_stands_is_raised_again_in_a_fresh_instance(
    run: Run,
) -> None:
    """never_retry_on errors are stored with arguments and attributes."""
    guard, api = make(), Api(Declined(51, reason="no funds"))
    raised: list[Declined] = []
    for _ in range(3):
        with pytest.raises(Declined) as caught:
            await run(guard, api.charge, "k")
        raised.append(caught.value)
    assert len(api.entries) == 1
    assert [(e.args, e.reason) for e in raised] == [((51,), "no funds")] * 3
    assert len(set(map(id, raised))) == 3


async def test_a_thousand_replays_keep_no_traceback_and_no_frame(run: Run) -> None:
    """RT-17: tracebacks do not grow and objects of the first call are let go."""

    class Big:
        pass

    guard, seen = make(), []

    def charge(key: str) -> None:
        big = Big()
        seen.append(weakref.ref(big))
        raise Declined(1, reason="x")

    depths = set()
    for number in range(1000):
        try:
            await run(guard, charge, "k")
        except Declined as error:
            traceback, depth = error.__traceback__, 0
            while traceback is not None:
                traceback, depth = traceback.tb_next, depth + 1
            if number:
                depths.add(depth)
            del error, traceback
    gc.collect()
    assert len(seen) == 1
    assert seen[0]() is None
    assert len(depths) == 1


@pytest.mark.parametrize(
    "error",
    [TimeoutError(), ValueError(), KeyboardInterrupt(), asyncio.CancelledError()],
    ids=repr,
)
async def test_every_other_error_frees_the_key(run: Run, error: BaseException) -> None:
    """ID-01: failures, cancellation and Ctrl-C remove the mark at once."""
    guard, api = make(in_progress=3600.0), Api(error, "ok")
    with pytest.raises(type(error)):
        await run(guard, api.charge, "k")
    assert await run(guard, api.charge, "k") == "ok"
    assert len(api.entries) == 2


async def test_an_entry_lives_for_its_ttl(run: Run) -> None:
    """ID-06: with 1.5 s it is there after 1.4 s and gone after 1.6 s."""
    guard, api = make(ttl=1.5), Api("ok")
    with fake_clock() as clock:
        await run(guard, api.charge, "k")
        clock.advance(1.4)
        await run(guard, api.charge, "k")
        assert len(api.entries) == 1
        clock.advance(0.2)
        await run(guard, api.charge, "k")
        assert len(api.entries) == 2


async def test_expired_entries_are_dropped() -> None:
    """Memory holds what is alive, not every key that ever was."""
    guard, api = make(ttl=100.0), Api("ok")
    with fake_clock() as clock:
        for number in range(500):
            run_sync(guard, api.charge, f"k{number}")
            clock.advance(1.0)
        assert len(guard.store) == 100  # type: ignore[arg-type]


async def test_a_second_caller_waits_for_the_first() -> None:
    """on_conflict: wait gives every caller in line the one result."""
    guard, gate, entries = make(), asyncio.Event(), 0

    async def charge(key: str) -> str:
        nonlocal entries
        entries += 1
        await gate.wait()
        return "ok"

    calls = [asyncio.create_task(run_async(guard, charge, "k")) for _ in range(20)]
    await asyncio.sleep(0.01)
    assert not any(call.done() for call in calls)
    gate.set()
    assert await asyncio.gather(*calls) == ["ok"] * 20
    assert entries == 1


async def test_when_the_first_fails_the_next_in_line_runs() -> None:
    """A freed key goes to exactly one of those that wait."""
    guard, entries = make(), 0

    async def charge(key: str) -> int:
        nonlocal entries
        entries += 1
        mine = entries
        await asyncio.sleep(0.001)
        if mine < 3:
            raise TimeoutError
        return mine

    calls = [run_async(guard, charge, "k") for _ in range(5)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sorted(str(type(r).__name__) for r in results) == [
        "TimeoutError",
        "TimeoutError",
        "int",
        "int",
        "int",
    ]
    assert entries == 3


def test_threads_wait_and_get_the_one_result() -> None:
    """64 threads with one key: one effect, one result for all."""
    guard, gate, entries = make(), threading.Event(), []
    results: list[Any] = []

    def charge(key: str) -> str:
        entries.append(key)
        gate.wait(60)
        return "ok"

    threads = [
        threading.Thread(
            target=lambda: results.append(run_sync(guard, charge, "k")), daemon=True
        )
        for _ in range(64)
    ]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert (entries, results) == (["k"], ["ok"] * 64)


def test_a_thread_and_event_loops_share_one_key() -> None:
    """Callers of two loops and a thread see each other's calls."""
    guard, gate, entries = make(), threading.Event(), []
    results: list[Any] = []

    def charge(key: str) -> str:
        entries.append(key)
        gate.wait(60)
        return "ok"

    def loop() -> None:
        results.append(asyncio.run(run_async(guard, charge, "k")))

    first = threading.Thread(
        target=lambda: results.append(run_sync(guard, charge, "k")), daemon=True
    )
    first.start()
    while not entries:
        pass
    others = [threading.Thread(target=loop, daemon=True) for _ in range(2)]
    for thread in others:
        thread.start()
    gate.set()
    for thread in (first, *others):
        thread.join()
    assert (entries, results) == (["k"], ["ok"] * 3)


async def test_a_conflict_can_be_refused_at_once(run: Run) -> None:
    """on_conflict: reject raises while the first call runs."""
    guard, api = make(on_conflict="reject"), Api("ok")
    ticket = guard.enter(api.charge, ("k",), {})
    with pytest.raises(IdempotencyConflictError) as caught:
        await run(guard, api.charge, "k")
    assert caught.value.conflict == "in_progress"
    ticket.settle("first", None)
    assert await run(guard, api.charge, "k") == "first"


@pytest.mark.timing
@pytest.mark.parametrize("bound", ["scope", "own budget"])
async def test_waiting_ends_with_the_budget(run: Run, bound: str) -> None:
    """Neither the caller's budget nor the operation's own is overrun by waiting."""
    guard = make(longest_wait=0.05 if bound == "own budget" else None)
    api = Api("ok")
    guard.enter(api.charge, ("k",), {})
    with budget(0.05 if bound == "scope" else 60.0):
        with pytest.raises(IdempotencyConflictError) as caught:
            await run(guard, api.charge, "k")
    assert 0.04 < caught.value.waited < 1.0
    assert api.entries == []


async def test_a_waiter_that_is_cancelled_leaves_no_trace() -> None:
    """The call in progress and the others in line are not disturbed."""
    guard, api = make(), Api("ok")
    ticket = guard.enter(api.charge, ("k",), {})
    waiters = [asyncio.create_task(run_async(guard, api.charge, "k")) for _ in range(2)]
    await asyncio.sleep(0.01)
    waiters[0].cancel("shutdown")
    with pytest.raises(asyncio.CancelledError, match="shutdown"):
        await waiters[0]
    ticket.settle("first", None)
    assert await waiters[1] == "first"


async def test_a_first_call_that_died_is_released_after_in_progress(run: Run) -> None:
    """ID-01: the mark has its own short expiry, not the ttl."""
    guard, api = make(in_progress=5.0, on_conflict="reject"), Api("ok")
    with fake_clock() as clock:
        guard.enter(api.charge, ("k",), {})
        clock.advance(4.9)
        with pytest.raises(IdempotencyConflictError):
            await run(guard, api.charge, "k")
        clock.advance(0.2)
        assert await run(guard, api.charge, "k") == "ok"


async def test_a_late_result_does_not_overwrite_the_winners(run: Run) -> None:
    """ID-03: a call that lost its key to another stores nothing, frees nothing."""
    guard, api = make(in_progress=5.0), Api("B")
    with fake_clock() as clock:
        frozen = guard.enter(api.charge, ("k",), {})
        clock.advance(5.1)
        assert await run(guard, api.charge, "k") == "B"
        frozen.settle("A", None)
        assert await run(guard, api.charge, "k") == "B"
        frozen.settle(None, TimeoutError())
        assert await run(guard, api.charge, "k") == "B"
        assert len(api.entries) == 1


async def test_a_late_failure_does_not_free_the_successors_key(run: Run) -> None:
    """The key of a running successor stays its own."""
    guard, api = make(in_progress=5.0, on_conflict="reject"), Api("B")
    with fake_clock() as clock:
        frozen = guard.enter(api.charge, ("k",), {})
        clock.advance(5.1)
        successor = guard.enter(api.charge, ("k",), {})
        frozen.settle(None, TimeoutError())
        with pytest.raises(IdempotencyConflictError):
            await run(guard, api.charge, "k")
        successor.settle("B", None)
        assert await run(guard, api.charge, "k") == "B"


async def test_the_key_is_forwarded_as_an_argument(run: Run) -> None:
    """The callee gets the caller's own key; what the caller passes wins."""
    guard = make(forward=settings.Forward(argument="idempotency_key"))
    api = Api("ok")
    await run(guard, api.charge, "order-17")
    await run(guard, api.charge, "order-18", idempotency_key="mine")
    assert api.entries == ["order-17", "mine"]
    await run(guard, api.charge, "order-18")
    assert len(api.entries) == 2
    await run(guard, api.charge, "order-19", 1, None)
    await run(guard, api.charge, "order-20", 1, "mine")
    assert api.entries[2:] == ["order-19", "mine"]


async def test_a_key_of_several_values_is_forwarded_as_a_digest(run: Run) -> None:
    """It is the same in every process, and another for other values."""
    guard = make(
        key=("key", "amount"), forward=settings.Forward(argument="idempotency_key")
    )
    api = Api("ok")
    await run(guard, api.charge, "k", 1)
    await run(guard, api.charge, "k", 2)
    expected = [
        hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        for text in (
            r'["pay.charge", "\"k\"", "1"]',
            r'["pay.charge", "\"k\"", "2"]',
        )
    ]
    assert api.entries == expected


async def test_the_key_is_forwarded_as_a_header(run: Run) -> None:
    """Clients find it while the call runs, and nothing before and after."""
    guard = make(forward=settings.Forward(header="Idempotency-Key"))
    seen: list[tuple[dict[str, str], str | None]] = []

    def charge(key: str) -> str:
        seen.append((forwarded_headers(), forwarded_key()))
        return "ok"

    await run(guard, charge, "order-17")
    await run(guard, charge, "order\n18")
    assert seen[0] == ({"Idempotency-Key": "order-17"}, "order-17")
    digest = seen[1][1]
    assert digest is not None
    assert digest.isalnum()
    assert (forwarded_headers(), forwarded_key()) == ({}, None)


async def test_a_key_function_may_say_that_a_call_has_no_key(run: Run) -> None:
    """key: {call: …} gets the arguments; None means unguarded."""

    def key_of(order: dict[str, Any]) -> str | None:
        found: str | None = order.get("id")
        return found

    guard = make(key=(), key_call=key_of)
    entries: list[Any] = []

    def place(order: dict[str, Any]) -> int:
        entries.append(order)
        return len(entries)

    assert [await run(guard, place, {"id": "a"}) for _ in range(2)] == [1, 1]
    assert [await run(guard, place, {}) for _ in range(2)] == [2, 3]


async def test_what_cannot_be_stored_still_happened_once(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """The first caller gets its result; the second learns why it cannot, no effect."""
    guard, api = make(), Api(object())
    with caplog.at_level(logging.ERROR, "policyctl"):
        assert await run(guard, api.charge, "k") is api.outcomes[0]
    assert "cannot be stored: a value of type builtins.object" in caplog.text
    with pytest.raises(PolicyConfigError, match="the first call succeeded, but its"):
        await run(guard, api.charge, "k")
    assert len(api.entries) == 1


async def test_an_error_that_cannot_be_stored_frees_the_key(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """Better run again than invent an error."""
    guard, api = make(), Api(Declined(1, reason=object()), "ok")  # type: ignore[arg-type]
    with caplog.at_level(logging.ERROR, "policyctl"), pytest.raises(Declined):
        await run(guard, api.charge, "k")
    assert "the error of a call" in caplog.text
    assert await run(guard, api.charge, "k") == "ok"


async def test_everything_can_be_forgotten() -> None:
    """clear() frees keys, wakes who waits, and a call in progress stores nothing."""
    guard, api = make(), Api("ok")
    first = guard.enter(api.charge, ("k",), {})
    waiter = asyncio.create_task(run_async(guard, api.charge, "k"))
    await asyncio.sleep(0.01)
    guard.clear()
    assert await waiter == "ok"
    first.settle("late", None)
    assert run_sync(guard, api.charge, "k") == "ok"
    guard.clear()
    run_sync(guard, api.charge, "k")
    assert len(api.entries) == 2


class RemoteStore(MemoryStore):
    """A store that may block and cannot wake anybody, as one on a disk or network."""

    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def claim(self, *args: Any) -> Any:
        """Note the thread."""
        self.threads.add(threading.get_ident())
        return super().claim(*args)

    def complete(self, *args: Any) -> bool:
        """Note the thread."""
        self.threads.add(threading.get_ident())
        return super().complete(*args)

    def watch(self, *args: Any) -> bool:
        """Nobody is told."""
        return False


def remote() -> tuple[Guard, RemoteStore]:
    """A guard over a store that may block."""
    store = RemoteStore()
    block = settings.Idempotency(key=("key",))
    return Guard("pay.charge", block, Classifier(), store=store), store


@pytest.mark.timing
async def test_a_store_that_may_block_is_used_from_other_threads() -> None:
    """The event loop's thread makes no call to it; waiting polls."""
    guard, store = remote()
    gate, entries = asyncio.Event(), 0

    async def charge(key: str) -> str:
        nonlocal entries
        entries += 1
        await gate.wait()
        return "ok"

    calls = [asyncio.create_task(run_async(guard, charge, "k")) for _ in range(3)]
    await asyncio.sleep(0.05)
    gate.set()
    assert await asyncio.gather(*calls) == ["ok"] * 3
    assert entries == 1
    assert threading.get_ident() not in store.threads


async def test_a_key_that_is_taken_for_a_cancelled_caller_comes_back() -> None:
    """The cancel lands while another thread is taking the key."""
    guard, store = remote()
    taking, gate = threading.Event(), threading.Event()
    claim = store.claim

    def slow(*args: Any) -> Any:
        taking.set()
        gate.wait(60)
        return claim(*args)

    store.claim = slow  # type: ignore[method-assign]
    api = Api("ok")
    caller = asyncio.create_task(run_async(guard, api.charge, "k"))
    await asyncio.to_thread(taking.wait, 5)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    gate.set()
    assert await run_async(guard, api.charge, "k") == "ok"


def test_threads_poll_a_store_that_cannot_wake_them() -> None:
    """Pauses grow from 20 ms to half a second, and end with the outcome."""
    guard, store = remote()
    api = Api("ok")
    with fake_clock() as clock:
        first = guard.enter(api.charge, ("k",), {})
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            clock.advance(seconds)
            if len(pauses) == 7:
                first.settle("ok", None)

        CLOCK.sleep = sleep
        assert run_sync(guard, api.charge, "k") == "ok"
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]
    assert api.entries == []
    assert len(store) == 1


def test_a_child_process_starts_without_calls_in_progress() -> None:
    """Marks of threads that do not exist after a fork are gone, results stay."""
    guard, api = make(on_conflict="reject"), Api("ok")
    run_sync(guard, api.charge, "done")
    guard.enter(api.charge, ("k",), {})
    guard.after_fork()
    assert run_sync(guard, api.charge, "k") == "ok"
    assert run_sync(guard, api.charge, "done") == "ok"
    assert len(api.entries) == 2


class SlowStore(MemoryStore):
    """A store that works in threads and takes as long as the test says."""

    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.freed = threading.Event()

    def claim(self, *args: Any) -> Any:
        """Claim when the test lets it."""
        self.asked.set()
        assert self.go_on.wait(60)
        return super().claim(*args)

    def release(self, *args: Any) -> None:
        """Free the key, and tell the test."""
        super().release(*args)
        self.freed.set()


@pytest.mark.parametrize("claimed", [False, True])
async def test_a_key_claimed_for_nobody_is_freed_without_the_loop(
    claimed: bool,
) -> None:
    """A caller cancelled while the store works leaves no key behind, though the loop is
    blocked by then."""
    guard = make()
    store = guard.store = SlowStore()
    calling = asyncio.create_task(guard.enter_async(lambda key: 1, ("a",), {}))
    while not store.asked.is_set():
        await asyncio.sleep(0.001)
    if claimed:
        store.go_on.set()
        while not store._records:
            pass
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    store.go_on.set()
    assert store.freed.wait(60)
    assert guard.enter(lambda key: 1, ("a",), {}).key is not None


def test_a_longer_life_of_before_does_not_hold_back_a_shorter_one() -> None:
    """After a reload with a shorter ttl new outcomes leave at their own time."""
    guard = make(ttl=1000.0)
    with fake_clock() as clock:
        run_sync(guard, lambda key: key, "first")
        guard.change(settings.Idempotency(key=("key",), ttl=1.0), guard._classifier)
        for n in range(10):
            run_sync(guard, lambda key: key, f"k{n}")
        assert len(guard.store) == 11  # type: ignore[arg-type]
        clock.advance(2.0)
        run_sync(guard, lambda key: key, "last")
        assert len(guard.store) == 2  # type: ignore[arg-type]
