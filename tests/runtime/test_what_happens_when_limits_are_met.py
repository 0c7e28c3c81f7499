"""The rows about retries, limits and budgets of the table in docs/runtime.md."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, remaining_budget
from policyctl.runtime.edges.httpx import BudgetTransport
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    BulkheadFullError,
)
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock

RETRY = settings.Retry(
    max_attempts=3,
    retry_on=("TimeoutError",),
    backoff=settings.Backoff(initial=1.0, jitter="none"),
)


class Throttled(Exception):
    """A 429 that asks to wait for an hour."""

    response = SimpleNamespace(status_code=429, headers={"Retry-After": "3600"})


def fail() -> None:
    """What a callee in trouble does."""
    raise TimeoutError("slow")


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_attempts_run_out() -> None:
    """What happens when attempts run out?"""
    error = TimeoutError("the third")
    outcomes = [TimeoutError("one"), TimeoutError("two"), error]

    def work() -> None:
        raise outcomes.pop(0)

    with fake_clock(), pytest.raises(TimeoutError) as caught:
        Policy(service="s", operation="o", retry=RETRY).call(work)
    assert caught.value is error
    assert error.__notes__ == [
        "policyctl: s.o: 3 attempts in 3.000 s; stopped: max_attempts is 3"
    ]
    polling = Policy(
        retry=RETRY.replace(retry_on=(), retry_if_result=lambda result: result < 0)
    )
    with fake_clock():
        assert polling.call(lambda: -1) == -1


@pytest.mark.parametrize(
    ("members", "entries"), [((TimeoutError,) * 2, 3), ((TimeoutError, KeyError), 1)]
)
def test_a_group(members: tuple[type[Exception], ...], entries: int) -> None:
    """What happens when a task group raises several errors?"""
    made: list[int] = []

    def work() -> None:
        made.append(1)
        raise ExceptionGroup("several", [member() for member in members])

    with fake_clock(), pytest.raises(ExceptionGroup):
        Policy(retry=RETRY).call(work)
    assert len(made) == entries


def test_a_long_hint() -> None:
    """What happens when the server asks for a longer wait than `retry_after.max`?"""

    def work() -> None:
        raise Throttled

    policy = Policy(
        transport="http",
        retry=RETRY.replace(
            retry_on_status=("429",), retry_after=settings.RetryAfter(max=10.0)
        ),
    )
    with fake_clock() as clock, pytest.raises(Throttled) as caught:
        policy.call(work)
    assert clock.slept == []
    assert "3600.000 s, over 10 s" in caught.value.__notes__[0]


def test_no_retry_token() -> None:
    """What happens when the retry budget is empty?"""
    share = settings.RetryBudget(ratio=0.0, floor=0.0, burst=1)
    policy = Policy(retry=RETRY.replace(budget=share))
    entries: list[int] = []

    def work() -> None:
        entries.append(1)
        fail()

    notes: list[str] = []
    with fake_clock():
        for _ in range(2):
            with pytest.raises(TimeoutError) as caught:
                policy.call(work)
            notes += caught.value.__notes__
    assert len(entries) == 3  # the only token pays for one retry of the first call
    assert all("the retry budget has no token left" in note for note in notes)


async def test_a_cancelled_waiter() -> None:
    """What happens when a waiter for a slot is cancelled?"""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=2, max_wait=60.0)
    )
    gate, entered = asyncio.Event(), list[int]()

    @policy
    async def work(number: int) -> None:
        entered.append(number)
        await gate.wait()

    tasks = []
    for number in range(3):
        tasks.append(asyncio.create_task(work(number)))
        await settle()
    tasks[1].cancel()
    gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert entered == [0, 2]
    assert policy.bulkhead.in_use == 0


async def test_a_full_bulkhead() -> None:
    """What happens when the bulkhead is full?"""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=5.0))
    gate = asyncio.Event()
    with fake_clock(start=100.0) as clock:
        holder = asyncio.create_task(policy.call(gate.wait))
        await settle()
        waiting = asyncio.create_task(policy.call(gate.wait))
        await settle()
        assert policy.bulkhead.waiting == 1
        clock.advance(5.0)
        with pytest.raises(BulkheadFullError) as caught:
            await waiting
        assert caught.value.waited == 5.0
        with budget(2.0):
            short = asyncio.create_task(policy.call(gate.wait))
        await settle()
        clock.advance(2.0)
        with pytest.raises(BudgetExhaustedError):
            await short
    gate.set()
    await holder


@pytest.mark.parametrize("sync", [True, False])
async def test_a_token_without_a_slot(sync: bool) -> None:
    """What happens when an attempt with a token finds no slot?"""
    policy = Policy(
        rate_limit=settings.RateLimit(rate=0.001, burst=3),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )

    def inside() -> float:
        for _ in range(5):
            with pytest.raises(BulkheadFullError):
                policy.call(inside)
        return policy.rate_limit.tokens

    async def inside_task() -> float:
        for _ in range(5):
            with pytest.raises(BulkheadFullError):
                await policy.call(inside_task)
        return policy.rate_limit.tokens

    left = policy.call(inside) if sync else await policy.call(inside_task)
    assert left == pytest.approx(2.0, abs=0.01)


@pytest.mark.timing
def test_a_call_inside_itself() -> None:
    """What happens when a guarded function calls itself?"""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=2, max_wait=0.01))

    @policy
    def nested(depth: int) -> list[int]:
        if depth == 3:
            with pytest.raises(BulkheadFullError):
                nested(4)
            return [policy.bulkhead.in_use]
        return [policy.bulkhead.in_use, *nested(depth + 1)]

    assert nested(2) == [1, 2]
    assert policy.bulkhead.in_use == 0


def test_no_time_to_wait() -> None:
    """What happens when the budget does not cover the next wait?"""
    policy = Policy(retry=RETRY, budget=settings.Budget(total=0.9))
    with fake_clock() as clock, pytest.raises(TimeoutError, match="slow") as caught:
        policy.call(fail)
    assert clock.slept == []
    assert not isinstance(caught.value, BudgetExhaustedError)
    assert "0.900 s of the budget left" in caught.value.__notes__[0]


@pytest.mark.timing
@pytest.mark.parametrize(("total", "state"), [(0.05, "closed"), (0.2, "open")])
async def test_a_cut_attempt(total: float, state: str) -> None:
    """What happens when the budget cuts an attempt short?"""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=0.3),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1, record_on=("timeout",)
        ),
    )
    with budget(total), pytest.raises(BudgetExhaustedError):
        await policy.call(asyncio.sleep, 60)
    assert policy.circuit_breaker.state == state


def test_no_budget() -> None:
    """What happens when no budget is open?"""
    assert remaining_budget() is None
    assert Policy().call(remaining_budget) is None


@pytest.mark.parametrize(("inherit", "left"), [(True, 2.0), (False, 30.0)])
def test_a_longer_budget_inside(inherit: bool, left: float) -> None:
    """What happens when an operation calls another with a longer budget?"""
    outer = Policy(budget=settings.Budget(total=2.0))
    inner = Policy(budget=settings.Budget(total=30.0, inherit=inherit))
    with fake_clock(start=100.0):
        assert outer.call(lambda: inner.call(remaining_budget)) == left


@pytest.fixture
def dripping() -> Iterator[str]:
    """A server whose answer of 20 bytes takes a second, a byte each 50 ms."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def serve() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
                    for _ in range(20):
                        connection.sendall(b"x")
                        time.sleep(0.05)
        except OSError:
            return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.timing
def test_a_dripping_server(dripping: str) -> None:
    """What happens when a server sends its answer drop by drop?"""
    breaker = settings.CircuitBreaker(failure_threshold=1, record_on=("timeout",))

    def fetch() -> str:
        with httpx.Client(transport=BudgetTransport()) as client:
            return client.get(dripping).text

    limit = settings.AttemptTimeout(total=0.3, sync="cooperative")
    cooperative = Policy(attempt_timeout=limit, circuit_breaker=breaker)
    assert cooperative.call(fetch) == "x" * 20
    assert cooperative.circuit_breaker.state == "open"
    in_thread = Policy(attempt_timeout=settings.AttemptTimeout(total=0.3))
    with pytest.raises(AttemptTimeoutError):
        in_thread.call(fetch)
    end = time.monotonic() + 10
    while in_thread.abandoned and time.monotonic() < end:
        time.sleep(0.01)
    assert in_thread.abandoned == 0
