"""SF-08: an outage of days loses nothing, and what retention drops is counted.

opentelemetry-collector-contrib #48635.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Queue, Redelivery, Sqlite, Upload, live
from policyctl.runtime.registry import registry
from policyctl.testing import FakeClock

DAY = 86_400.0
ITEMS = 5_000


class Broker:
    """A server that is away until it comes back."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.calls = 0
        self.received: list[int] = []

    def __call__(self, payloads: list[dict[str, Any]]) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error
        self.received += [payload["n"] for payload in payloads]


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """Time in the test's hands; the queue and the policy are gone afterwards."""
    Policy(
        service="edge",
        operation="send",
        transport="http",
        circuit_breaker=settings.CircuitBreaker(failure_threshold=3),
    )
    with FakeClock() as clock:
        yield clock
    live.forget("edge.outage")
    registry.forget("edge.send")


def queue_in(folder: Path, **changes: Any) -> Queue[Any]:
    """A queue for 10 000 reports, sent in batches of 100 every 5 s."""
    values: dict[str, Any] = {
        "max_size": 10_000,
        "redelivery": Redelivery(initial=1.0, max=300.0, jitter="full"),
        "upload": Upload(operation="edge.send", batch=100, interval=5.0, drain=10.0),
        "order_by": "agent_id",
    }
    store = Sqlite(path=str(folder / "reports.db"))
    return Queue(service="edge", queue="outage", store=store, **values | changes)


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError("refused"), TimeoutError("late")]
)
def test_four_days_without_a_broker(
    memory_path: Path, clock: FakeClock, error: Exception
) -> None:
    """All 5 000 items arrive in order afterwards, and none became a dead letter."""
    queue, broker = queue_in(memory_path), Broker(error)
    worker = queue.worker(broker)
    end = clock.now() + 4 * DAY
    every = 4 * DAY / 50
    n = 0
    while clock.now() < end:
        if n < ITEMS and clock.now() >= end - 4 * DAY + n / 100 * every:
            queue.put_many([{"n": n + k, "agent_id": 7} for k in range(100)])
            n += 100
        clock.advance(max(worker.step(), 240.0))
    assert n == ITEMS
    assert (queue.stats().size, queue.stats().dead) == (ITEMS, 0)
    assert broker.received == []
    broker.error = None
    for _ in range(400):
        clock.advance(worker.step())
    assert broker.received == list(range(ITEMS))
    assert queue.stats().size == 0


def test_what_max_age_drops_is_counted(memory_path: Path, clock: FakeClock) -> None:
    """With retention of a day, the counter equals what is missing."""
    queue = queue_in(memory_path, max_age=DAY, dead_letter=None)
    broker = Broker(ConnectionRefusedError("refused"))
    worker = queue.worker(broker)
    for day in range(4):
        queue.put_many([{"n": day * 100 + k, "agent_id": 7} for k in range(100)])
        for _ in range(10):
            worker.step()
            clock.advance(DAY / 12)
    broker.error = None
    for _ in range(100):
        clock.advance(worker.step())
    missing = 400 - len(broker.received)
    assert broker.received == list(range(missing, 400))
    assert missing == 300
    assert queue.stats().dropped == missing
