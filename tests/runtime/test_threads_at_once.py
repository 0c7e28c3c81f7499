"""C10: many threads in one object at once. A build without the GIL shows most of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.arguments import ArgumentPath
from policyctl.runtime.breaker import CLOSED, FORCED_OPEN, Breaker
from policyctl.runtime.chance import RANDOM
from policyctl.runtime.errors import BulkheadFullError, CircuitOpenError
from policyctl.runtime.events import Event, Stream
from policyctl.runtime.gate import Gate
from policyctl.runtime.idempotency.memory import MemoryStore
from policyctl.runtime.policy import Policy
from policyctl.runtime.rate_limit import TokenBucket
from policyctl.runtime.registry import Registry, registry
from policyctl.runtime.retry_budget import TokenBudget
from policyctl.runtime.scopes import Keyed
from policyctl.runtime.shared.link import Link
from policyctl.testing import fake_clock

THREADS = 8
Run = Callable[[Iterable[Callable[[], object]]], None]


@pytest.fixture
def crowd(in_threads: Run) -> Callable[[Callable[[int], object]], None]:
    """``crowd(work)``: ``work(n)`` in eight threads, all of which begin at once."""

    def run(work: Callable[[int], object]) -> None:
        start = threading.Barrier(THREADS)

        def one(number: int) -> None:
            start.wait(60)
            work(number)

        in_threads([partial(one, number) for number in range(THREADS)])

    return run


Crowd = Callable[[Callable[[int], object]], None]


def test_every_transition_is_told_once(crowd: Crowd) -> None:
    """However threads meet, none is lost and none told twice: they form one chain."""
    told: list[tuple[str, str]] = []
    block = settings.CircuitBreaker(failure_threshold=1)
    breaker = Breaker(block, lambda old, new: told.append((old, new)), RANDOM)

    def work(number: int) -> None:
        for turn in range(400):
            breaker.set_manual(FORCED_OPEN if (turn + number) % 2 else None)

    crowd(work)
    breaker.set_manual(None)
    counts = Counter(told)
    assert set(counts) == {(CLOSED, FORCED_OPEN), (FORCED_OPEN, CLOSED)}
    assert counts[CLOSED, FORCED_OPEN] == counts[FORCED_OPEN, CLOSED]


def test_no_listener_is_lost(crowd: Crowd) -> None:
    """All who began to listen at once hear, and all who stopped at once do not."""
    stream, heard = Stream(), list[Event]()
    stops: list[Callable[[], None]] = []

    def listen(_number: int) -> None:
        for _ in range(50):
            stops.append(stream.listen(heard.append))

    def stop(number: int) -> None:
        for end in stops[number::THREADS]:
            end()

    crowd(listen)
    stream.emit("retry", "a", "b")
    assert len(heard) == THREADS * 50
    crowd(stop)
    assert stream.listeners == ()


def test_first_calls_share_one_set_of_threads(crowd: Crowd) -> None:
    """The bound on threads is the policy's, whoever needs the first of them."""
    for _ in range(50):
        policy = Policy(attempt_timeout=settings.AttemptTimeout(total=60.0))
        found: list[Any] = []
        crowd(lambda _, policy=policy, found=found: found.append(policy.workers()))  # type: ignore[misc]
        assert {id(workers) for workers in found} == {id(policy.workers())}


def test_one_policy_for_one_name(crowd: Crowd) -> None:
    """Definitions, look-ups and listings at once: one object, and no error."""
    own = Registry()
    seen: list[int] = []

    def work(_number: int) -> None:
        for turn in range(100):
            policy = own.claim(f"s.o{turn}", {}, lambda: Policy())
            seen.append(id(policy))
            assert own.get(f"s.o{turn}") is policy
            assert len(list(own)) >= turn
            assert len(own.policies("s.*")) > turn

    crowd(work)
    assert len(set(seen)) == len(own) == 100


def test_a_token_is_taken_once(crowd: Crowd) -> None:
    """A bucket of 1,000 gives exactly so many, and counts who got none."""
    with fake_clock():
        bucket = TokenBucket(settings.RateLimit(rate=1.0, burst=1000))
        taken: list[bool] = []

        def work(_number: int) -> None:
            for _ in range(200):
                taken.append(bucket.take(0.0)[0])

        crowd(work)
        assert taken.count(True) == 1000
        assert bucket.rejected == THREADS * 200 - 1000
        assert bucket.tokens == 0.0


def test_a_retry_takes_one_token(crowd: Crowd) -> None:
    """500 of 800 retries at once are made; the gate is flagged once, and freed once."""
    with fake_clock() as clock:
        gate = Gate()
        budget = TokenBudget(settings.RetryBudget(burst=500, floor=1.0), gate)
        taken: list[bool] = []

        def work(_number: int) -> None:
            for _ in range(100):
                taken.append(budget.take())

        crowd(work)
        assert (taken.count(True), budget.refused) == (500, 300)
        assert gate.in_use == 0
        assert gate.count > 0
        clock.advance(500.0)
        crowd(lambda _: budget.tokens)
        assert (budget.tokens, gate.count) == (500.0, 0)


def test_half_open_lets_its_permits_in_and_no_more(crowd: Crowd) -> None:
    """CB-02: round after round, of eight at once exactly three probe."""
    block = settings.CircuitBreaker(
        failure_threshold=1, half_open_max_calls=3, success_threshold=3
    )
    policy = Policy(circuit_breaker=block)
    with fake_clock() as clock:
        for _ in range(50):
            policy.circuit_breaker.reset()
            with pytest.raises(OSError):
                policy.call(_fail)
            clock.advance(1000.0)
            assert _admitted_and_refused(policy, crowd) == (3, THREADS - 3)
            assert policy.circuit_breaker.state == "closed"


def _admitted_and_refused(policy: Policy, crowd: Crowd) -> tuple[int, int]:
    """How many of eight calls at once run; they end when all have been decided."""
    entered, refused = list[int](), list[int]()
    decided, free = threading.Semaphore(0), threading.Event()

    def probe() -> None:
        entered.append(1)
        decided.release()
        free.wait(60)

    def work(number: int) -> None:
        try:
            policy.call(probe)
        except CircuitOpenError:
            refused.append(number)
            decided.release()

    def let_go() -> None:
        for _ in range(THREADS):
            decided.acquire(timeout=60)
        free.set()

    releaser = threading.Thread(target=let_go, daemon=True)
    releaser.start()
    crowd(work)
    releaser.join(60)
    return len(entered), len(refused)


def _fail() -> None:
    raise OSError


def test_a_bulkhead_with_waiters_loses_no_slot(crowd: Crowd) -> None:
    """Two slots, eight threads that enter, wait, give up and leave: none over, none lost."""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=4, max_wait=60.0)
    )
    inside, most, done = 0, 0, 0
    lock = threading.Lock()

    @policy
    def work() -> None:
        nonlocal inside, most, done
        with lock:
            inside += 1
            most = max(most, inside)
        with lock:
            inside -= 1
            done += 1

    rejected: list[int] = []

    def many(number: int) -> None:
        for _ in range(200):
            try:
                work()
            except BulkheadFullError:
                rejected.append(number)

    crowd(many)
    assert most <= 2
    assert done + len(rejected) == THREADS * 200
    assert policy.bulkhead.rejected == len(rejected)
    assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)
    assert policy.gate.count == 0


def test_an_opening_circuit_wakes_everybody_who_waits(crowd: Crowd) -> None:
    """C6: whoever waits for a slot is turned away at once, and nobody waits his time out."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=9, max_wait=600.0),
    )
    for _ in range(100):
        policy.circuit_breaker.reset()
        outcomes: list[str] = []

        def work(number: int, outcomes: list[str] = outcomes) -> None:
            try:
                policy.call(_fail)
            except CircuitOpenError:
                outcomes.append("open")
            except OSError:
                outcomes.append("failed")

        crowd(work)
        assert len(outcomes) == THREADS
        assert outcomes.count("failed") >= 1
        assert (policy.bulkhead.in_use, policy.bulkhead.waiting) == (0, 0)


def test_one_call_owns_a_key(crowd: Crowd) -> None:
    """Of eight claims of each key one succeeds, and all waiters of it are woken."""
    store = MemoryStore()
    owners, woken = list[str](), list[int]()

    def work(number: int) -> None:
        for turn in range(200):
            key = f"k{turn}"
            if store.claim(key, "p", f"o{number}", None) is None:
                owners.append(key)
                store.complete(key, f"o{number}", b"x", 60.0)
            else:
                store.watch(key, lambda: woken.append(1))

    crowd(work)
    assert sorted(owners) == sorted(f"k{turn}" for turn in range(200))
    assert len(woken) == (THREADS - 1) * 200
    assert len(store) == 200


def test_one_object_for_one_value(crowd: Crowd) -> None:
    """Per-argument objects: the same value gives the same object to all threads."""
    kept = Keyed[Any](ArgumentPath("a", "test"), lambda _: Gate(), lambda _: True, 64)
    found: list[tuple[int, int]] = []

    def work(_number: int) -> None:
        for turn in range(300):
            found.append((turn % 16, id(kept.get(turn % 16))))

    crowd(work)
    assert len(set(found)) == 16


def test_members_join_a_link_while_it_looks_at_all(crowd: Crowd) -> None:
    """Telling everybody that the store is away is not disturbed by who joins."""

    class Member:
        """Hears nothing."""

        def went_away(self) -> None:
            """Go on."""

    link: Any = Link("NO_SUCH_URL")
    kept: list[Member] = []

    def work(number: int) -> None:
        for _ in range(200):
            if number % 2:
                member = Member()
                kept.append(member)
                link.join(member)
            else:
                link._failed(OSError())

    crowd(work)
    assert len(link._everyone()) == THREADS // 2 * 200


def test_definitions_and_statistics_at_once(crowd: Crowd) -> None:
    """The process's registry is read while others define policies and forget them."""

    def work(number: int) -> None:
        for turn in range(50):
            name = f"p{turn}"
            Policy(
                service=f"crowd_{number}",
                operation=name,
                circuit_breaker=settings.CircuitBreaker(),
            ).call(int)
            if number % 2:
                registry.forget(f"crowd_{number}.{name}")
            else:
                registry.statistics(f"crowd_{number}.*")

    crowd(work)
    assert len(registry.policies("crowd_*")) == THREADS // 2 * 50
