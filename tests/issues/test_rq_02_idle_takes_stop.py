"""RQ-02: a taker that waits for items stops soon, and its connection is free again.

redis-py PR 2666.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Consume, Queue, Redis, live
from policyctl.runtime.registry import registry

_numbers = itertools.count()


@pytest.fixture
def queue(valkey: Any) -> Iterator[Queue[Any]]:
    """An empty queue on a real server, with a worker."""
    name = f"idle{next(_numbers)}"
    Policy(service="rq", operation=name, transport="local")
    yield Queue(
        service="rq",
        queue=f"{name}_queue",
        store=Redis(key=name, url_env="POLICY_REDIS_URL"),
        max_size=10,
        consume=Consume(operation=f"rq.{name}"),
    )
    live.forget(f"rq.{name}_queue")
    registry.forget(f"rq.{name}")


@pytest.mark.timing
def test_an_idle_worker_stops_within_a_second(queue: Queue[Any]) -> None:
    """And another command on the same client works."""
    worker = queue.worker(print).start()
    time.sleep(0.3)
    before = time.monotonic()
    assert worker.stop()
    assert time.monotonic() - before < 1.0
    assert queue.put({"n": 1}).outcome == "queued"


@pytest.mark.timing
async def test_an_idle_async_worker_stops_within_a_second(queue: Queue[Any]) -> None:
    """The same for tasks."""

    async def handle(_payload: Any) -> None: ...

    worker = queue.aworker(handle).start()
    await asyncio.sleep(0.3)
    before = time.monotonic()
    assert await worker.stop()
    assert time.monotonic() - before < 1.0
    assert (await queue.aput({"n": 1})).outcome == "queued"


@pytest.mark.timing
async def test_a_waiting_take_can_be_cancelled(queue: Queue[Any]) -> None:
    """Cancelling takes no time, leases nothing, and the client can be used."""
    task = asyncio.create_task(queue.atake(timeout=60.0))
    await asyncio.sleep(0.2)
    before = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - before < 0.5
    await queue.aput({"n": 1})
    item = await queue.atake(timeout=5.0)
    assert item is not None
    assert (item.payload, item.deliveries) == ({"n": 1}, 1)
