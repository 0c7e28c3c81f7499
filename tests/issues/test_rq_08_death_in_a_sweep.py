"""RQ-07 and RQ-08: no step holds items in memory alone, so no death loses one.

enqueue-dev #750, vexa PR 614. Deaths before every single statement are in
``tests/runtime/queues/test_crashes.py``; here the worker dies in the middle of a sweep.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Redelivery, Sqlite, live
from policyctl.runtime.stores import sqlite as store_sqlite
from policyctl.testing import FakeClock


def opened(path: Path) -> Queue[Any]:
    """The queue as a new process opens it."""
    live.forget("sweep.work")
    return Queue(
        service="sweep",
        queue="work",
        store=Sqlite(path=str(path)),
        max_size=1000,
        max_deliveries=2,
        lease=30.0,
        redelivery=Redelivery(initial=0.0, max=0.0),
    )


@pytest.mark.parametrize("statement", [8, 30, 60, 110, 150])
def test_a_worker_dies_in_the_middle_of_a_sweep(
    memory_path: Path, statement: int
) -> None:
    """After the leases all 100 entries are delivered or dead letters, each once."""
    path = memory_path / "q.db"
    with FakeClock() as clock:
        ids = [put.id for put in opened(path).put_many([{"n": n} for n in range(100)])]
        assert len(opened(path).take_many(100)) == 100
        clock.advance(31.0)
        assert len(opened(path).take_many(50)) == 50
        clock.advance(31.0)
        child = os.fork()
        if child == 0:  # pragma: no cover - dies
            die_at(statement)
            opened(path).take_many(100)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        clock.advance(31.0)
        queue = opened(path)
        delivered = [item.id for item in queue.take_many(200)]
        dead = [letter.id for letter in queue.dead_letters(200)]
        assert sorted(delivered + dead) == sorted(ids)
        assert len(dead) == 50
    live.forget("sweep.work")


def die_at(statement: int) -> None:  # pragma: no cover - runs in a child
    """Be killed before a statement of the sweep's transaction."""
    original = store_sqlite.connect
    count = 0

    def before(_sql: str) -> None:
        nonlocal count
        count += 1
        if count == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect(path: Any, **options: Any) -> Any:
        connection = original(path, **options)
        connection.set_trace_callback(before)
        return connection

    store_sqlite.connect = connect
