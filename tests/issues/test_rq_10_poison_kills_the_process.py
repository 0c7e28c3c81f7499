"""RQ-10: an item that kills its process is not redelivered for ever.

taskiq-aio-pika #35, opentelemetry-collector #12095.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Consume, Queue, Redelivery, Sqlite, live
from policyctl.runtime.registry import registry
from policyctl.testing import FakeClock


def opened(path: Path) -> Queue[Any]:
    """The queue as a new process opens it."""
    live.forget("poison.work")
    return Queue(
        service="poison",
        queue="work",
        store=Sqlite(path=str(path)),
        max_size=100,
        max_deliveries=3,
        lease=30.0,
        redelivery=Redelivery(initial=0.0, max=0.0),
        consume=Consume(operation="poison.handle"),
    )


def test_three_crashes_and_then_a_dead_letter(memory_path: Path) -> None:
    """The handler exits hard three times, never sees the item again, others go on."""
    path = memory_path / "q.db"
    Policy(service="poison", operation="handle", transport="local")
    with FakeClock() as clock:
        poison = opened(path).put({"poison": True}).id
        opened(path).put_many([{"poison": False}] * 4)
        ends: list[int] = []
        while len(ends) < 10:
            child = os.fork()
            if child == 0:  # pragma: no cover - ends by _exit
                run_worker(path)
            _, status = os.waitpid(child, 0)
            ends.append(os.waitstatus_to_exitcode(status))
            if ends[-1] == 0:
                break
            clock.advance(31.0)
        queue = opened(path)
        assert ends == [9, 9, 9, 0]
        (dead,) = queue.dead_letters()
        assert (dead.id, dead.reason, dead.deliveries) == (poison, "max_deliveries", 3)
        stats = queue.stats()
        assert (stats.size, stats.acked) == (0, 4)
    live.forget("poison.work")
    registry.forget("poison.handle")


def run_worker(path: Path) -> None:  # pragma: no cover - runs in a child
    """Work until the queue is empty, or until the handler ends the process."""

    def handle(payload: dict[str, Any]) -> None:
        if payload["poison"]:
            os._exit(9)

    worker = opened(path).worker(handle)
    while worker.queue.stats().ready:
        worker.step()
    os._exit(0)
