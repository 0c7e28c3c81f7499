"""C20: slots and waiters, in tasks, threads and several loops at once."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.errors import (
    BudgetExhaustedError,
    BulkheadFullError,
    CircuitOpenError,
    PolicyConfigError,
)
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock

ROUNDS = int(os.environ.get("POLICYCTL_FUZZ_ROUNDS", "10000"))


def _policy(size: int, **more: Any) -> Policy:
    limits = {"max_queue": 100, "max_wait": 60.0} | more
    return Policy(bulkhead=settings.Bulkhead(max_concurrent=size, **limits))


async def _turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Held:
    """Guarded calls that run until they are let go, and the order they began in."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.began: list[int] = []
        self.inside = self.most = 0
        self.gates: dict[int, asyncio.Event] = {}

    async def _run(self, number: int) -> int:
        self.began.append(number)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.gates[number].wait()
        finally:
            self.inside -= 1
        return number

    def start(self, number: int) -> asyncio.Task[int]:
        """A call with this number, as a task."""
        self.gates[number] = asyncio.Event()
        return asyncio.create_task(self.policy.call(self._run, number))


async def test_first_in_first_out() -> None:
    """C20: waiters get slots in the order in which they came."""
    held = Held(_policy(1))
    tasks = [held.start(i) for i in range(4)]
    await _turns()
    assert held.began == [0]
    assert held.policy.bulkhead.waiting == 3
    for i in range(4):
        held.gates[i].set()
        await _turns()
    assert held.began == [0, 1, 2, 3]
    assert [await task for task in tasks] == [0, 1, 2, 3]
    assert held.policy.gate.count == 0


async def test_nobody_passes_the_queue() -> None:
    """C20: a newcomer does not overtake a waiter that was just granted a slot."""
    held = Held(_policy(1))
    first, second = held.start(0), held.start(1)
    await _turns()
    held.gates[0].set()
    await first
    third = held.start(2)
    await _turns()
    assert held.began == [0, 1]
    held.gates[1].set()
    held.gates[2].set()
    assert [await second, await third] == [1, 2]


async def test_full_queue_and_no_wait_reject_at_once() -> None:
    """C20: `max_wait: 0s` tries once, a full queue rejects; the texts say which."""
    held = Held(_policy(1, max_wait=0.0))
    task = held.start(0)
    await _turns()
    with pytest.raises(BulkheadFullError, match="max_wait is 0 s"):
        await held.start(1)
    held.gates[0].set()
    await task
    held = Held(_policy(1, max_queue=1))
    tasks = [held.start(0), held.start(1)]
    await _turns()
    with pytest.raises(BulkheadFullError, match="all 1 places to wait taken"):
        await held.start(2)
    assert held.policy.bulkhead.rejected == 1
    for i, task in enumerate(tasks):
        held.gates[i].set()
        await task


async def test_wait_ends_after_max_wait() -> None:
    """C20: a waiter gives up after max_wait and leaves the queue."""
    held = Held(_policy(1, max_wait=5.0))
    with fake_clock() as clock:
        first = held.start(0)
        second = held.start(1)
        await _turns()
        clock.advance(4.9)
        await asyncio.sleep(0.01)
        assert not second.done()
        clock.advance(0.2)
        with pytest.raises(BulkheadFullError, match="none came free within 5"):
            await second
        assert held.policy.bulkhead.waiting == 0
        held.gates[0].set()
        await first
    assert held.policy.gate.count == 0


@pytest.mark.timing
async def test_wait_ends_with_the_budget() -> None:
    """C20, C22: the caller's budget bounds the wait too, and says so."""
    held = Held(_policy(1))
    first = held.start(0)
    await _turns()
    with budget(0.03), pytest.raises(BudgetExhaustedError):
        await held.start(1)
    held.gates[0].set()
    await first
    assert held.policy.gate.count == 0


async def test_cancelled_in_the_step_of_the_release() -> None:
    """BH-01: the wake-up of a waiter that is cancelled in that step goes on."""
    held = Held(_policy(1))
    first, second, third = (held.start(i) for i in range(3))
    await _turns()
    held.gates[0].set()
    await first
    second.cancel()
    held.gates[2].set()
    assert await third == 2
    assert second.cancelled()
    assert held.policy.gate.count == 0


async def test_limit_lowered_and_raised() -> None:
    """BH-04: 4 running, limit to 1 and then 3: drains to exactly 3."""
    held = Held(_policy(4))
    tasks = [held.start(i) for i in range(8)]
    await _turns()
    held.policy.bulkhead.max_concurrent = 1
    held.policy.bulkhead.max_concurrent = 3
    await _turns()
    assert held.inside == 4
    held.gates[0].set()
    await _turns()
    assert held.inside == 3
    held.gates[1].set()
    await _turns()
    assert held.inside == 3
    held.policy.bulkhead.max_concurrent = 5
    await _turns()
    assert held.inside == 5
    for event in held.gates.values():
        event.set()
    await asyncio.gather(*tasks)
    assert held.policy.gate.count == 0


def test_limit_is_checked() -> None:
    """A limit set at run time is an integer over zero."""
    for value in (0, -1, True, 2.5):
        with pytest.raises(PolicyConfigError, match=r"bulkhead\.max_concurrent"):
            _policy(1).bulkhead.max_concurrent = value  # type: ignore[assignment]


async def test_waiters_are_turned_away_when_the_circuit_opens() -> None:
    """C6: who waits for a slot gets CircuitOpenError at once when it opens."""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=9, max_wait=60.0),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
    )
    release = asyncio.Event()

    async def fail() -> None:
        await release.wait()
        raise ConnectionError

    tasks = [asyncio.create_task(policy.call(fail)) for _ in range(3)]
    await _turns()
    release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(r) for r in results] == [
        ConnectionError,
        CircuitOpenError,
        CircuitOpenError,
    ]
    assert policy.bulkhead.in_use == policy.bulkhead.waiting == 0


@pytest.mark.parametrize("size", [1, 2])
async def test_any_interleaving_ends_with_all_slots_free(size: int) -> None:
    """BH-01, BH-02: 10,000 seeded rounds of calls cancelled anywhere."""
    chance = random.Random(size)
    for _ in range(ROUNDS // 2):
        held = Held(_policy(size, max_queue=chance.choice([1, 2, 9])))
        tasks: list[asyncio.Task[int]] = []
        for step in range(chance.randint(2, 9)):
            action = chance.random()
            if action < 0.5:
                tasks.append(held.start(step))
            elif action < 0.7 and tasks:
                chance.choice(tasks).cancel()
            elif held.gates:
                chance.choice(list(held.gates.values())).set()
            if chance.random() < 0.5:
                await asyncio.sleep(0)
        for event in held.gates.values():
            event.set()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        assert held.most <= size
        assert held.policy.gate.count == 0
        assert held.policy.bulkhead.waiting == 0


def _in_threads(count: int, target: Callable[[], object]) -> None:
    threads = [threading.Thread(target=target, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_threads_never_exceed_the_limit() -> None:
    """C20: 16 threads share 3 slots; none is lost and none is granted twice."""
    policy = _policy(3)
    lock, inside, most = threading.Lock(), [0], [0]

    @policy
    def work() -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.0001)
        with lock:
            inside[0] -= 1

    _in_threads(16, lambda: [work() for _ in range(40)])
    assert most[0] == 3
    assert policy.gate.count == 0


def test_threads_and_loops_share_the_slots() -> None:
    """BH-11: two loops in two threads and two plain threads contend for two slots."""
    policy = _policy(2)
    lock, inside, most, done = threading.Lock(), [0], [0], [0]

    def enter(change: int) -> None:
        with lock:
            inside[0] += change
            most[0] = max(most[0], inside[0])
            done[0] += change < 0

    async def in_task() -> None:
        enter(1)
        await asyncio.sleep(0.0005)
        enter(-1)

    def in_thread() -> None:
        enter(1)
        threading.Event().wait(0.0005)
        enter(-1)

    async def many() -> None:
        guarded = policy(in_task)
        await asyncio.gather(*(guarded() for _ in range(25)))

    jobs: list[Callable[[], object]] = [lambda: asyncio.run(many())] * 2
    jobs += [lambda: [policy.call(in_thread) for _ in range(25)]] * 2
    waiting = iter(jobs)
    _in_threads(4, lambda: next(waiting)())
    assert done[0] == 100
    assert most[0] == 2
    assert policy.gate.count == 0


def test_one_loop_after_the_other() -> None:
    """BH-11: a policy made at import is contended in one asyncio.run after another."""
    policy = _policy(1)

    @policy
    async def work(value: int) -> int:
        await asyncio.sleep(0)
        return value

    async def both() -> list[int]:
        return list(await asyncio.gather(work(1), work(2)))

    assert asyncio.run(both()) == asyncio.run(both()) == [1, 2]
    assert policy.gate.count == 0


def test_observe_and_disabled_admit_all() -> None:
    """Mode observe counts would-be rejections, disabled counts nothing."""
    for mode, rejected in (("observe", 1), ("disabled", 0)):
        policy = _policy(1, mode=mode)
        assert policy.call(policy.call, int) == 0
        assert policy.bulkhead.rejected == rejected
        assert policy.gate.count == 0
