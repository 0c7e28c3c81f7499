"""The rows about fallbacks, keys, streams and processes of the table in docs/runtime.md."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import IdempotencyConflictError, PolicyConfigError
from policyctl.runtime.events import EVENTS, Event
from policyctl.runtime.gate import later_if_mine
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

BREAKER = settings.CircuitBreaker(failure_threshold=2, record_on=("OSError",))


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    yield
    if "shop.pay" in registry:
        registry.forget("shop.pay")


def fail(*_: object) -> None:
    """What a callee in trouble does."""
    raise OSError("away")


def test_a_failing_fallback() -> None:
    """What happens when a fallback fails too?"""

    def answer() -> None:
        raise KeyError("nothing cached")

    policy = Policy(
        fallback=settings.FallbackCall(call=answer, fallback_on=("OSError",))
    )
    with pytest.raises(KeyError) as caught:
        policy.call(fail)
    assert isinstance(caught.value.__context__, OSError)


@pytest.mark.parametrize("on_conflict", ["wait", "reject"])
async def test_a_key_that_is_running(on_conflict: Any) -> None:
    """What happens when a second call comes with a key that is running?"""
    policy = Policy(
        service="shop",
        operation="pay",
        idempotency=settings.Idempotency(key=("order",), on_conflict=on_conflict),
    )
    gate, entries = asyncio.Event(), list[str]()

    @policy
    async def pay(order: str) -> str:
        entries.append(order)
        await gate.wait()
        return "paid"

    first = asyncio.create_task(pay("17"))
    for _ in range(5):
        await asyncio.sleep(0)
    second = asyncio.create_task(pay("17"))
    for _ in range(5):
        await asyncio.sleep(0)
    gate.set()
    assert await first == "paid"
    if on_conflict == "wait":
        assert await second == "paid"
    else:
        with pytest.raises(IdempotencyConflictError):
            await second
    assert entries == ["17"]


def test_a_stream_that_is_left() -> None:
    """What happens when a stream is left before its end?"""
    policy = Policy(
        kind="stream",
        circuit_breaker=BREAKER,
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )
    log: list[str] = []

    @policy
    def items() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    with pytest.raises(OSError, match="away"):
        next(policy(broken)())
    stream: Any = items()
    assert next(stream) == 1
    assert policy.bulkhead.in_use == 1
    stream.close()
    assert log == ["closed"]
    assert policy.bulkhead.in_use == 0
    # Neither a failure, which would open, nor a success, which would clear the count.
    assert policy.circuit_breaker.state == "closed"
    with pytest.raises(OSError, match="away"):
        next(policy(broken)())
    assert policy.circuit_breaker.state == "open"


def broken() -> Iterator[int]:
    """A stream that fails at once."""
    fail()
    yield 1


def test_a_policy_defined_again() -> None:
    """What happens when the same module is imported twice, or a policy defined again?"""

    def define(threshold: int = 2) -> Policy:
        return Policy(
            service="shop",
            operation="pay",
            circuit_breaker=BREAKER.replace(failure_threshold=threshold),
        )

    first = define()
    for _ in range(2):
        with pytest.raises(OSError, match="away"):
            first.call(fail)
    second = define()
    assert second is first
    assert second.circuit_breaker.state == "open"
    with pytest.raises(PolicyConfigError):
        define(threshold=3)


def test_loops_and_threads() -> None:
    """What happens when several event loops and threads use one policy?"""
    policy = Policy(
        circuit_breaker=BREAKER.replace(failure_threshold=6),
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=10, max_wait=10.0),
    )
    inside: list[int] = []

    async def work() -> None:
        inside.append(policy.bulkhead.in_use)
        await asyncio.sleep(0.005)
        raise OSError

    async def two() -> None:
        tasks = (policy.call(work) for _ in range(2))
        await asyncio.gather(*tasks, return_exceptions=True)

    threads = [
        threading.Thread(target=lambda: asyncio.run(two()), daemon=True)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 6
    assert max(inside) <= 2
    assert policy.circuit_breaker.state == "open"
    assert policy.bulkhead.in_use == 0


def test_a_loop_that_ends() -> None:
    """What happens when the event loop ends with calls in flight?"""
    policy = Policy(
        service="shop",
        operation="pay",
        attempt_timeout=settings.AttemptTimeout(total=60.0),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        idempotency=settings.Idempotency(key=("order",), on_conflict="reject"),
    )

    @policy
    async def pay(order: str) -> str:
        if order == "hang":
            await asyncio.Event().wait()
        return order

    def abandon() -> weakref.ref[asyncio.AbstractEventLoop]:
        loop = asyncio.new_event_loop()
        task = loop.create_task(pay("hang"))
        for _ in range(3):
            loop.run_until_complete(asyncio.sleep(0))
        assert policy.bulkhead.in_use == 1
        loop.close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        return weakref.ref(loop)

    found = abandon()
    gc.collect()
    assert policy.bulkhead.in_use == 0
    assert asyncio.run(pay("other")) == "other"
    gc.collect()
    assert found() is None


FORKING = """
import asyncio, os, threading
from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

policy = Policy(
    service="shop", operation="pay",
    attempt_timeout=settings.AttemptTimeout(total=60.0),
    circuit_breaker=settings.CircuitBreaker(failure_threshold=1, record_on=("OSError",)),
    bulkhead=settings.Bulkhead(max_concurrent=1),
)
other = Policy(circuit_breaker=settings.CircuitBreaker(failure_threshold=1))
other.circuit_breaker.force_open()
inside, gate = threading.Event(), threading.Event()

def work():
    inside.set()
    gate.wait(60)

thread = threading.Thread(target=policy.call, args=(work,))
thread.start()
inside.wait(60)
with policy.gate.lock:
    child = os.fork()
if child == 0:
    code = policy.bulkhead.in_use * 1 + (other.circuit_breaker.state != "forced_open") * 2
    code += (threading.active_count() != 1) * 4 + (policy.call(int) != 0) * 8
    os._exit(code)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert policy.bulkhead.in_use == 1
gate.set()
thread.join()
print(code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork() -> None:
    """What happens when the process forks?"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.stdout.strip() == "0", run.stderr


@pytest.mark.parametrize("guarded", [True, False])
def test_a_failing_listener(guarded: bool) -> None:
    """What happens when a listener or a metrics sink fails?"""
    policy = Policy(
        service="shop",
        operation="pay",
        circuit_breaker=BREAKER.replace(failure_threshold=1),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )
    free: list[bool] = []

    def listener(event: Event) -> None:
        free.append(not later_if_mine(policy.gate.lock, id))
        raise ValueError("a broken sink")

    call: Callable[..., Any] = policy(fail) if guarded else policy.call
    stop = EVENTS.listen(listener)
    try:
        with pytest.raises(OSError, match="away"):
            call(*(() if guarded else (fail,)))
    finally:
        stop()
    assert len(free) >= 2
    assert all(free)
    assert policy.circuit_breaker.state == "open"
