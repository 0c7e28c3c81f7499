"""SF-07: what was in flight comes back after a restart; what was delivered is gone.

opentelemetry-collector #6020 and #8115.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from policyctl.runtime.queues import Queue, Sqlite, live
from policyctl.testing import FakeClock


def opened(path: Path) -> Queue[Any]:
    """The queue as a new process opens it."""
    live.forget("edge.reports")
    return Queue(
        service="edge",
        queue="reports",
        store=Sqlite(path=str(path)),
        max_size=20_000,
        lease=30.0,
    )


def test_items_in_flight_return_after_a_restart(memory_path: Path) -> None:
    """The same ids come again once the lease of the dead process is over."""
    path = memory_path / "reports.db"
    with FakeClock() as clock:
        opened(path).put_many([{"n": n} for n in range(10)])
        in_flight = [item.id for item in opened(path).take_many(4)]
        queue = opened(path)
        assert [item.payload["n"] for item in queue.take_many(9)] == [4, 5, 6, 7, 8, 9]
        clock.advance(31.0)
        again = queue.take_many(4)
        assert [item.id for item in again] == in_flight
        assert [item.deliveries for item in again] == [2, 2, 2, 2]
    live.forget("edge.reports")


def test_a_drained_file_gives_its_space_back(memory_path: Path) -> None:
    """After 10 000 delivered items there are no rows and the file is small."""
    path = memory_path / "reports.db"
    queue = opened(path)
    for start in range(0, 10_000, 1000):
        queue.put_many(
            [{"n": n, "text": "x" * 300} for n in range(start, start + 1000)]
        )
    assert os.path.getsize(path) > 3_000_000
    log = path.with_name("reports.db-wal")
    while items := queue.take_many(250):
        assert all(queue.ack_many(items))
        assert log.stat().st_size < 4_000_000
    stats = queue.stats()
    assert (stats.size, stats.bytes, stats.acked) == (0, 0, 10_000)
    queue.close()
    assert os.path.getsize(path) < 1_300_000
    live.forget("edge.reports")
