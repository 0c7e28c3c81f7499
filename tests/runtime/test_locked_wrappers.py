"""C10: the wrappers of builds without the GIL, compiled and driven on any build."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.runtime import breaker, bulkhead, gate, settings, wrappers
from policyctl.runtime.errors import BulkheadFullError, CircuitOpenError
from policyctl.runtime.policy import Policy
from policyctl.runtime.signatures import shape_of
from policyctl.runtime.templates import source

THREADS = 16
CALLS = 500
BLOCKS: dict[str, Any] = {
    "retry": settings.Retry(
        backoff=settings.Backoff(initial=0.0, max=0.0), retry_on=("ConnectionError",)
    ),
    "circuit_breaker": settings.CircuitBreaker(failure_threshold=10**6),
    "bulkhead": settings.Bulkhead(max_concurrent=THREADS),
}
RATIO = settings.CircuitBreaker(
    failure_ratio=0.99, minimum_calls=10**6, window=settings.Window(seconds=60.0)
)


@pytest.fixture(autouse=True)
def _locked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (wrappers, gate, bulkhead, breaker):
        monkeypatch.setattr(module, "HAS_GIL", False)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def _in_threads(target: Callable[[], object]) -> None:
    threads = [threading.Thread(target=target, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _plain(value: int) -> int:
    if value % 7 == 0:
        raise ValueError(value)
    return value


@pytest.mark.parametrize("more", [{}, {"circuit_breaker": RATIO}])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_they_take_the_lock(more: dict[str, Any], asynchronous: bool) -> None:
    """The source holds the gate's lock wherever it changes the count."""
    features = wrappers.features_of(Policy(**BLOCKS | more), asynchronous)
    lines = source(shape_of(_plain), features, packed=False).splitlines()
    changes = [
        n
        for n, line in enumerate(lines)
        if "_pc_count += " in line or "_pc_count -= " in line
    ]
    assert changes
    for number in changes:
        assert "_pc_gate.lock.acquire()" in lines[number - 1]
        assert "_pc_gate.lock.release()" in lines[number]


@pytest.mark.parametrize("more", [{}, {"circuit_breaker": RATIO}])
def test_a_hammer_of_threads_loses_no_count(more: dict[str, Any]) -> None:
    """Successes and failures of many threads leave the gate empty and count right."""
    policy = Policy(**BLOCKS | more)
    guarded = policy(_plain)

    def work() -> None:
        for number in range(CALLS):
            try:
                guarded(number)
            except ValueError:
                continue

    _in_threads(work)
    assert policy.bulkhead.in_use == 0
    assert policy.bulkhead.rejected == 0
    if more:
        failed = THREADS * len(range(0, CALLS, 7))
        numbers = policy.circuit_breaker.statistics()["window"]
        assert numbers == {"calls": THREADS * CALLS, "failures": failed, "slow": 0}


def test_the_bulkhead_is_never_overrun() -> None:
    """However many threads enter at once, no more than the limit are inside."""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=3, max_wait=0.0))
    lock = threading.Lock()
    inside = most = 0

    @policy
    def call() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        with lock:
            inside -= 1

    def work() -> None:
        for _ in range(CALLS):
            try:
                call()
            except BulkheadFullError:
                continue

    _in_threads(work)
    assert 1 <= most <= 3
    assert policy.gate.count == 0


def test_loops_in_threads() -> None:
    """Coroutines with time limits on many loops at once."""
    policy = Policy(**BLOCKS, attempt_timeout=settings.AttemptTimeout(total=30.0))

    @policy
    async def call(value: int) -> int:
        if value % 3 == 0:
            await asyncio.sleep(0)
        return _plain(value)

    async def many() -> None:
        for number in range(CALLS):
            try:
                await call(number)
            except ValueError:
                continue

    _in_threads(lambda: asyncio.run(many()))
    assert policy.bulkhead.in_use == 0
    assert policy.bulkhead.rejected == 0


def test_an_open_breaker_refuses() -> None:
    """A rejection gives the lock back."""
    policy = Policy(**BLOCKS)
    guarded = policy(_plain)
    policy.circuit_breaker.force_open()
    for _ in range(3):
        with pytest.raises(CircuitOpenError):
            guarded(1)
    policy.circuit_breaker.reset()
    assert guarded(1) == 1
