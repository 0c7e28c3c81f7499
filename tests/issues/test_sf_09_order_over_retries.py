"""SF-09: nothing overtakes a failed or older item of its key, over retries and restarts.

sentry-javascript #11207, element-web #6398.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Queue, Redelivery, Sqlite, Upload, live
from policyctl.runtime.registry import registry
from policyctl.testing import FakeClock

KEYS = 2


class Receiver:
    """Fails for some numbers a few times, and may die after it has taken one."""

    def __init__(self, fails: dict[int, int], dies_after: int) -> None:
        self.fails = dict(fails)
        self.dies_after = dies_after
        self.received: list[int] = []

    def __call__(self, payloads: list[dict[str, Any]]) -> None:
        for payload in payloads:
            number = payload["n"]
            if self.fails.get(number, 0):
                self.fails[number] -= 1
                raise ValueError(f"{number} failed")
            self.received.append(number)
            if number == self.dies_after:
                self.dies_after = -1
                raise SystemExit


def opened(path: Path, batch: int) -> Queue[Any]:
    """The queue as a new process opens it."""
    live.forget("edge.ordered")
    return Queue(
        service="edge",
        queue="ordered",
        store=Sqlite(path=str(path)),
        max_size=100,
        lease=30.0,
        max_deliveries=10,
        redelivery=Redelivery(initial=5.0, max=60.0, jitter="none"),
        order_by="key",
        upload=Upload(operation="edge.ordered_send", batch=batch),
    )


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_ids_come_in_order_for_each_key(memory_path: Path, batch: int) -> None:
    """Duplicates are only adjacent to what was sent before, never older than that."""
    path = memory_path / "reports.db"
    Policy(service="edge", operation="ordered_send", transport="http")
    receiver = Receiver({3: 2, 7: 2}, dies_after=11)
    with FakeClock() as clock:
        queue = opened(path, batch)
        queue.put_many([{"n": n, "key": n % KEYS} for n in range(1, 21)])
        worker = queue.worker(receiver)
        for step in range(200):
            if step == 3:
                queue.put({"n": 21, "key": 21 % KEYS})
            if step == 4:
                # A process that dies here leaves its leases behind.
                queue.take_many(2)
                queue = opened(path, batch)
                worker = queue.worker(receiver)
                clock.advance(31.0)
            clock.advance(worker.step())
    live.forget("edge.ordered")
    registry.forget("edge.ordered_send")
    for key in range(KEYS):
        seen = [n for n in receiver.received if n % KEYS == key]
        assert without_repeats(seen, batch) == [
            n for n in range(1, 22) if n % KEYS == key
        ]


def without_repeats(seen: list[int], batch: int) -> list[int]:
    """The order of first arrival; what comes again is at most a batch old."""
    first: list[int] = []
    for number in seen:
        if number in first:
            assert len(first) - first.index(number) <= batch
        else:
            first.append(number)
    return first
