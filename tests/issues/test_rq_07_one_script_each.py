"""RQ-07: a client that dies before or after any command loses nothing.

enqueue-dev #750. Each step is one script, so these are all the moments there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from policyctl.runtime.queues import DeadLetter, Queue, Redelivery, Redis, live
from policyctl.runtime.stores.redis import RedisServer
from policyctl.testing import FakeClock

_numbers = itertools.count()


class Died(BaseException):
    """In place of the death of a process."""


@pytest.fixture
def clock(valkey: Any) -> Iterator[FakeClock]:
    """Time in the test's hands, on a real server."""
    with FakeClock() as clock:
        yield clock


def opened(key: str) -> Queue[Any]:
    """The queue as a new process opens it."""
    live.forget("rq.work")
    return Queue(
        service="rq",
        queue="work",
        store=Redis(key=key, url_env="POLICY_REDIS_URL"),
        max_size=4,
        overflow="dead_letter",
        max_deliveries=2,
        lease=30.0,
        redelivery=Redelivery(initial=0.0, max=0.0),
        dead_letter=DeadLetter(max_size=50),
        order_by="key",
    )


def work(queue: Queue[Any], put: list[str], acked: list[str]) -> None:
    """Every kind of step; notes what is about to be put or acknowledged."""
    for n in range(6):
        put.append(f"id{n}")
        queue.put({"key": n % 2}, id=put[-1])
    for item in queue.take_many(2):
        item.extend()
        item.nack("no")
    for item in queue.take_many(2):
        item.nack("no")
    queue.redrive()
    for item in queue.take_many(1):
        acked.append(item.id)
        item.ack()
    for item in queue.take_many(1):
        item.release()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_at_every_command(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    """Every put that began is in one place or in none, every other one in one."""
    original = RedisServer.run
    for dies_at in itertools.count(1):
        key = f"rq7_{next(_numbers)}"
        calls = itertools.count(1)
        put: list[str] = []
        acked: list[str] = []

        def run(
            self: RedisServer,
            *arguments: Any,
            calls: Iterator[int] = calls,
            dies_at: int = dies_at,
        ) -> Any:
            if next(calls) != dies_at:
                return original(self, *arguments)
            if after:
                original(self, *arguments)
            raise Died

        monkeypatch.setattr(RedisServer, "run", run)
        died = False
        try:
            work(opened(key), put, acked)
        except Died:
            died = True
        monkeypatch.setattr(RedisServer, "run", original)
        check(opened(key), clock, put, acked)
        if not died:
            break
    live.forget("rq.work")
    assert dies_at > 12


def check(
    queue: Queue[Any], clock: FakeClock, put: list[str], acked: list[str]
) -> None:
    """Put is ready, leased, dead or acknowledged; each id once."""
    clock.advance(31.0)
    stats = queue.stats()
    assert stats.size + stats.dead + stats.acked == stats.put
    assert stats.put in (len(put), len(put) - 1)
    assert stats.acked in (len(acked), len(acked) - 1)
    found = [dead.id for dead in queue.dead_letters(100)]
    while items := queue.take_many(10):
        found += [item.id for item in items]
        assert all(queue.ack_many(items))
    found += [dead.id for dead in queue.dead_letters(100) if dead.id not in found]
    assert len(found) == len(set(found)) == stats.size + stats.dead
