"""Workers for consume and upload, step by step and in threads and tasks (C35)."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError, PolicyConfigError
from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Consume, Queue, Redelivery, Sqlite, Upload, live
from policyctl.runtime.queues.pace import CATCH_UP
from policyctl.runtime.queues.plan import most_calls
from policyctl.runtime.registry import registry
from policyctl.testing import EventRecorder, FakeClock

MakeQueue = Callable[..., Queue[Any]]
_numbers = itertools.count()


@pytest.fixture
def operation() -> Iterator[str]:
    """The name of an operation without any limit."""
    name = f"send{next(_numbers)}"
    Policy(service="workers", operation=name, transport="http")
    yield f"workers.{name}"
    registry.forget(f"workers.{name}")


def upload_queue(make: MakeQueue, operation: str, **changes: Any) -> Queue[Any]:
    """A queue whose worker sends batches of 8 every 5 s."""
    upload = Upload(operation=operation, batch=8, interval=5.0, drain=3.0)
    return make(**{"upload": upload, "max_size": 10_000, **changes})


class Sink:
    """A handler that keeps what it gets and fails as it is told.

    ``errors`` maps the number of a call, from 1, to what it raises; ``poison`` are
    payload numbers that always fail with ValueError.
    """

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.received: list[int] = []
        self.errors: dict[int, Exception] = {}
        self.poison: set[int] = set()
        self.down: Exception | None = None

    def __call__(self, payloads: list[Any] | Any) -> None:
        batch = payloads if isinstance(payloads, list) else [payloads]
        numbers = [payload["n"] for payload in batch]
        self.calls.append(numbers)
        error = self.errors.get(len(self.calls), self.down)
        if error is not None:
            raise error
        if self.poison & set(numbers):
            raise ValueError("bad item")
        self.received += numbers


def fill(queue: Queue[Any], count: int, **more: Any) -> None:
    """Put items numbered from 0."""
    queue.put_many([{"n": n, **more} for n in range(count)])


def number(dead: Any) -> Any:
    """The number of a dead letter's item."""
    return dead.payload["n"]


def steps(worker: Any, backend: Any, count: int) -> list[float]:
    """Do some steps with their pauses; the pauses."""
    pauses = []
    for _ in range(count):
        pauses.append(worker.step())
        backend.advance(pauses[-1])
    return pauses


def test_batches_are_sent_in_order(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """A backlog goes out in full batches, faster than normal but bounded."""
    queue, sink = upload_queue(make, operation), Sink()
    fill(queue, 20)
    worker = queue.worker(sink)
    pauses = steps(worker, backend, 4)
    assert sink.calls == [list(range(8)), list(range(8, 16)), list(range(16, 20))]
    assert worker.handled == 20
    assert all(5.0 / CATCH_UP <= pause <= 5.0 for pause in pauses)
    assert pauses[2:] == [5.0, 5.0]
    assert queue.stats().size == 0


def test_one_bad_item_does_not_hold_up_the_rest(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """The batch is halved until the bad item is alone; the others get through."""
    queue, sink = upload_queue(make, operation, max_deliveries=3), Sink()
    sink.poison = {5}
    fill(queue, 8)
    worker = queue.worker(sink)
    worker.step()
    assert sorted(sink.received) == [0, 1, 2, 3, 4, 6, 7]
    assert len(sink.calls) <= most_calls(8)
    assert queue.stats().size == 1
    steps(worker, backend, 3)
    (dead,) = queue.dead_letters()
    assert (number(dead), dead.deliveries) == (5, 3)
    assert dead.error == "ValueError: bad item"


def test_the_search_for_bad_items_is_bounded(make: MakeQueue, operation: str) -> None:
    """Where every item is bad a step makes a few calls, not two for each item."""
    queue, sink = upload_queue(make, operation, max_deliveries=None), Sink()
    sink.poison = set(range(8))
    fill(queue, 8)
    queue.worker(sink).step()
    assert len(sink.calls) == most_calls(8)
    assert queue.stats().size == 8


def test_nothing_overtakes_a_bad_item_of_its_key(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """With order_by, what follows a failed item waits; other keys go on."""
    redelivery = Redelivery(initial=5.0, max=5.0, jitter="none")
    queue = upload_queue(make, operation, order_by="key", redelivery=redelivery)
    sink = Sink()
    queue.put_many([{"n": n, "key": n % 2} for n in range(8)])
    sink.poison = {2}
    worker = queue.worker(sink)
    worker.step()
    assert [n for n in sink.received if n % 2] == [1, 3, 5, 7]
    assert [n for n in sink.received if n % 2 == 0] == [0]
    sink.poison = set()
    backend.advance(10.0)
    worker.step()
    assert [n for n in sink.received if n % 2 == 0] == [0, 2, 4, 6]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("refused"),
        CircuitOpenError("workers", "send", 1.0),
        TimeoutError("late"),
        ConnectionResetError("reset"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_outage_costs_no_deliveries(
    make: MakeQueue, backend: Any, operation: str, error: Exception
) -> None:
    """However long it lasts, nothing becomes a dead letter, and pauses grow."""
    redelivery = Redelivery(initial=1.0, max=60.0, jitter="none")
    queue = upload_queue(make, operation, redelivery=redelivery, max_deliveries=3)
    sink = Sink()
    sink.down = error
    fill(queue, 8)
    worker = queue.worker(sink)
    pauses = steps(worker, backend, 30)
    assert max(pauses) >= 60.0
    assert min(pauses) >= 5.0 / CATCH_UP
    assert queue.stats().dead == 0
    sink.down = None
    backend.advance(60.0)
    steps(worker, backend, 20)
    assert sorted(sink.received) == list(range(8))


def test_an_item_that_times_out_while_others_get_through_is_to_blame(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """Its deliveries count, and after the last it is a dead letter."""
    redelivery = Redelivery(initial=1.0, max=1.0, jitter="none")
    queue = upload_queue(make, operation, redelivery=redelivery, max_deliveries=3)

    def slow(payloads: list[Any]) -> None:
        if any(payload["n"] == 0 for payload in payloads):
            raise TimeoutError("late")

    fill(queue, 8)
    worker = queue.worker(slow)
    for n in range(8, 60):
        steps(worker, backend, 1)
        queue.put({"n": n})
    steps(worker, backend, 20)
    assert [number(dead) for dead in queue.dead_letters()] == [0]
    assert queue.stats().size == 0


def test_a_hint_of_the_server_is_kept(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """Everybody comes after the moment that the server names, spread out."""
    queue, sink = upload_queue(make, operation), Sink()
    sink.down = CircuitOpenError("workers", "send", 40.0)
    fill(queue, 1)
    pause = queue.worker(sink).step()
    assert 40.0 <= pause <= 50.0


def test_consume_hands_over_single_items(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """Each item is one call; a failed one comes back and then dies."""
    queue = make(consume=Consume(operation=operation), max_deliveries=2)
    sink = Sink()
    sink.poison = {1}
    fill(queue, 3)
    worker = queue.worker(sink)
    steps(worker, backend, 6)
    assert sink.received == [0, 2]
    assert (worker.handled, worker.failed) == (2, 2)
    assert [number(dead) for dead in queue.dead_letters()] == [1]


def test_the_operations_policy_is_in_force(make: MakeQueue, backend: Any) -> None:
    """Retries and the breaker of the operation are around every call."""
    name = f"send{next(_numbers)}"
    Policy(
        service="workers",
        operation=name,
        retry=settings.Retry(
            max_attempts=3,
            backoff=settings.Backoff(initial=0.0, max=0.0),
            retry_on=("ConnectionError",),
        ),
    )
    queue, sink = upload_queue(make, f"workers.{name}"), Sink()
    sink.errors = {1: ConnectionError("a"), 2: ConnectionError("b")}
    fill(queue, 2)
    queue.worker(sink).step()
    assert sink.received == [0, 1]
    assert len(sink.calls) == 3
    registry.forget(f"workers.{name}")


def test_without_a_handler_the_guarded_function_is_called(
    make: MakeQueue, backend: Any, operation: str
) -> None:
    """What the operation decorates is the handler."""
    received: list[Any] = []
    queue = upload_queue(make, operation)
    with pytest.raises(PolicyConfigError, match="guards no function yet"):
        queue.worker()

    @registry[operation]
    def send(payloads: list[Any]) -> None:
        received.extend(payloads)

    fill(queue, 2)
    queue.worker().step()
    assert received == [{"n": 0}, {"n": 1}]
    assert send is registry[operation].wrapped


def test_workers_that_cannot_work(make: MakeQueue, operation: str) -> None:
    """What is missing is said when the worker is made, with the remedy."""

    async def handler(_payload: Any) -> None: ...

    with pytest.raises(PolicyConfigError, match="this queue has no worker"):
        make().worker(print)
    with pytest.raises(PolicyConfigError, match=r"no policy called 'a\.b'"):
        make(consume=Consume(operation="a.b")).worker(print)
    with pytest.raises(PolicyConfigError, match=r"use aworker\(\) with it"):
        make(consume=Consume(operation=operation)).worker(handler)
    with pytest.raises(PolicyConfigError, match=r"use worker\(\) with it"):
        make(consume=Consume(operation=operation)).aworker(print)  # type: ignore[arg-type]


def test_a_fallback_value_would_lose_items(make: MakeQueue) -> None:
    """An operation that answers failures by a value is refused."""
    name = f"send{next(_numbers)}"
    Policy(
        service="workers",
        operation=name,
        fallback=settings.FallbackValue(value=None, fallback_on=("timeout",)),
    )
    with pytest.raises(PolicyConfigError, match="answers failures with a fixed value"):
        make(consume=Consume(operation=f"workers.{name}")).worker(print)
    registry.forget(f"workers.{name}")


def test_pauses_are_told(
    make: MakeQueue, operation: str, events: EventRecorder
) -> None:
    """An event says why and how long a worker waits."""
    queue, sink = upload_queue(make, operation), Sink()
    sink.down = ConnectionRefusedError("refused")
    fill(queue, 1)
    pause = queue.worker(sink).step()
    (event,) = events.of("worker_paused")
    assert event.data == {"error": sink.down, "seconds": pause}


# -- threads and tasks, in real time --------------------------------------------------


@pytest.fixture
def real(memory_path: Any, operation: str) -> Iterator[Callable[..., Queue[Any]]]:
    """Makes queues that live in real time."""
    made: list[str] = []

    def make(**changes: Any) -> Queue[Any]:
        name = f"w{next(_numbers)}"
        made.append(name)
        values: dict[str, Any] = {
            "max_size": 1000,
            "redelivery": Redelivery(initial=0.0, max=0.0),
            "consume": Consume(operation=operation, concurrency=3),
        }
        store = Sqlite(path=str(memory_path / f"{name}.db"))
        return Queue(service="tests", queue=name, store=store, **values | changes)

    yield make
    for name in made:
        live.forget(f"tests.{name}")


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_threads_work_until_they_are_stopped(real: MakeQueue) -> None:
    """Items put before and meanwhile are handled; stop comes back soon."""
    queue, sink = real(), Sink()
    fill(queue, 5)
    with queue.worker(sink) as worker:
        fill(queue, 5)
        wait_for(lambda: worker.handled == 10)
        assert worker.running
    assert not worker.running
    assert sorted(sink.received) == sorted([*range(5), *range(5)])


@pytest.mark.timing
def test_an_idle_worker_stops_at_once(real: MakeQueue) -> None:
    """Waiting for items or for the end of a pause takes no time to stop (RQ-02)."""
    sink = Sink()
    sink.down = ConnectionRefusedError("refused")
    redelivery = Redelivery(initial=300.0, max=300.0, jitter="none")
    for worker in (real().worker(sink), real(redelivery=redelivery).worker(sink)):
        worker.queue.put({"n": 1})
        worker.start()
        wait_for(lambda: bool(sink.calls))
        before = time.monotonic()
        assert worker.stop()
        assert time.monotonic() - before < 1.0


@pytest.mark.timing
def test_leases_are_extended_while_work_goes_on(real: MakeQueue) -> None:
    """An item that takes longer than its lease is delivered once."""
    queue = real(lease=0.3)
    calls = []

    def slow(payload: Any) -> None:
        calls.append(payload)
        time.sleep(1.0)

    queue.put({"n": 1})
    with queue.worker(slow) as worker:
        wait_for(lambda: worker.handled == 1)
    assert calls == [{"n": 1}]
    assert queue.stats().size == 0


@pytest.mark.timing
def test_stop_gives_up_after_its_time(real: MakeQueue) -> None:
    """A handler that hangs does not hold up the program; its item comes back."""
    queue = real()
    gate = threading.Event()
    started = threading.Event()

    def hang(_payload: Any) -> None:
        started.set()
        gate.wait(30)

    queue.put({"n": 1})
    worker = queue.worker(hang).start()
    assert started.wait(60)
    before = time.monotonic()
    assert not worker.stop(0.2)
    assert time.monotonic() - before < 2.0
    gate.set()
    wait_for(lambda: not worker.running)


@pytest.mark.timing
def test_stop_drains_what_is_there(real: MakeQueue, operation: str) -> None:
    """A stopping upload worker sends the backlog without its usual pauses."""
    upload = Upload(operation=operation, batch=4, interval=3600.0, drain=5.0)
    queue, sink = real(consume=None, upload=upload), Sink()
    fill(queue, 10)
    worker = queue.worker(sink).start()
    assert worker.stop()
    assert sink.received == list(range(10))


def test_stop_leaves_the_backlog_when_nothing_gets_through(
    real: MakeQueue, operation: str
) -> None:
    """While the callee is away the rest stays in the queue for the next start."""
    upload = Upload(operation=operation, batch=4, interval=3600.0, drain=5.0)
    queue, sink = real(consume=None, upload=upload), Sink()
    sink.down = ConnectionRefusedError("refused")
    fill(queue, 10)
    worker = queue.worker(sink).start()
    assert not worker.stop()
    assert len(sink.calls) == 1
    assert queue.stats().ready == 10


def test_a_worker_is_alive_after_a_fork(real: MakeQueue) -> None:
    """The child has threads of its own, and the parent keeps its."""
    queue = real()
    reading, writing = os.pipe()

    def tell(payload: Any) -> None:
        os.write(writing, f"{os.getpid()}\n".encode())

    worker = queue.worker(tell).start()
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by _exit
        time.sleep(100)
        os._exit(0)
    seen: set[int] = set()
    until = time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < until:
        queue.put({"n": 1})
        seen.add(int(os.read(reading, 100).split()[0]))
    worker.stop()
    os.kill(child, 9)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    assert seen == {os.getpid(), child}


@pytest.mark.timing
async def test_tasks_do_the_same(real: MakeQueue) -> None:
    """An async worker handles items at once and stops within a second."""
    queue = real()
    running = most = 0

    async def handle(_payload: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1

    await queue.aput_many([{"n": n} for n in range(12)])
    async with queue.aworker(handle) as worker:
        async with asyncio.timeout(60):
            while worker.handled < 12:
                await asyncio.sleep(0.005)
        assert worker.running
        before = time.monotonic()
    assert time.monotonic() - before < 1.0
    assert not worker.running
    assert most > 1
    assert queue.stats().acked == 12


async def test_a_task_gives_back_what_it_could_not_finish(real: MakeQueue) -> None:
    """After drain the handler is cancelled and its item is ready again, uncounted."""
    queue = real()
    started = asyncio.Event()

    async def hang(_payload: Any) -> None:
        started.set()
        await asyncio.sleep(60)

    queue.put({"n": 1})
    worker = queue.aworker(hang).start()
    await asyncio.wait_for(started.wait(), 60)
    assert not await worker.stop(0.1)
    item = queue.take()
    assert item is not None
    assert item.deliveries == 1


async def test_a_handler_whose_own_task_is_cancelled_fails(real: MakeQueue) -> None:
    """The worker lives on: it was not meant, and the item becomes a dead letter."""
    queue = real(max_deliveries=2, redelivery=Redelivery(initial=0.0, max=0.0))

    async def handle(payload: Any) -> None:
        if payload["n"] == 1:
            inner = asyncio.ensure_future(asyncio.sleep(60))
            asyncio.get_running_loop().call_soon(inner.cancel)
            await inner

    queue.put_many([{"n": n} for n in range(4)])
    async with queue.aworker(handle) as worker, asyncio.timeout(60):
        while queue.stats().size:
            await asyncio.sleep(0.005)
        assert worker.running
    (dead,) = queue.dead_letters()
    assert (dead.payload, dead.deliveries) == ({"n": 1}, 2)
    assert (dead.error or "").startswith("CancelledError")
    assert queue.stats().acked == 3


async def test_async_uploads_find_bad_items_too(
    real: MakeQueue, operation: str
) -> None:
    """Tasks follow the same plan as threads."""
    upload = Upload(operation=operation, batch=8, interval=0.01, drain=5.0)
    queue, sink = real(consume=None, upload=upload, max_deliveries=1), Sink()
    sink.poison = {3}

    async def send(payloads: list[Any]) -> None:
        sink(payloads)

    fill(queue, 8)
    async with queue.aworker(send) as worker:
        async with asyncio.timeout(60):
            while worker.handled < 7:
                await asyncio.sleep(0.005)
    assert sorted(sink.received) == [0, 1, 2, 4, 5, 6, 7]
    assert queue.stats().dead == 1


@pytest.mark.timing
async def test_async_leases_are_extended(real: MakeQueue) -> None:
    """A slow coroutine keeps its item."""
    queue = real(lease=0.3)
    calls = []

    async def slow(payload: Any) -> None:
        calls.append(payload)
        await asyncio.sleep(0.8)

    queue.put({"n": 1})
    async with queue.aworker(slow) as worker:
        async with asyncio.timeout(60):
            while not worker.handled:
                await asyncio.sleep(0.01)
    assert len(calls) == 1


def test_a_store_that_is_away_does_not_end_a_worker(
    real: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads say so, wait, and go on."""
    queue, sink = real(), Sink()
    fill(queue, 1)
    original = queue.store.take
    failures = iter([True, True])

    def take(*arguments: Any) -> Any:
        if next(failures, False):
            raise OSError("away")
        return original(*arguments)

    monkeypatch.setattr(queue.store, "take", take)
    with queue.worker(sink) as worker:
        wait_for(lambda: worker.handled == 1)


def test_fake_clocks_move_threads_too(make: MakeQueue, operation: str) -> None:
    """With a fake clock pauses take no time."""
    assert isinstance(FakeClock, type)
    queue, sink = upload_queue(make, operation), Sink()
    fill(queue, 40)
    with queue.worker(sink) as worker:
        wait_for(lambda: worker.handled == 40)
    assert sink.received == list(range(40))
