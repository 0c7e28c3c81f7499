"""C10: calls that the garbage collector closes inside of our locks block nobody."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.bulkhead import Waiter, Waiters
from policyctl.runtime.policy import Policy

BREAKER = settings.CircuitBreaker(failure_threshold=1)


class _Collecting:
    """A source of chance that is asked under the breaker's lock."""

    def random(self) -> float:
        """One half, after a collection."""
        gc.collect()
        return 0.5

    def uniform(self, low: float, high: float) -> float:
        """The lower end, after a collection."""
        gc.collect()
        return low


class _Cycle:
    """Holds a coroutine in a way that only the garbage collector ends."""

    def __init__(self, coroutine: Any) -> None:
        self.coroutine = coroutine
        self.itself = self
        coroutine.send(None)


async def _hang() -> None:
    await asyncio.get_running_loop().create_future()


async def _fail() -> None:
    raise OSError("down")


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10.0
    while not condition() and time.monotonic() < until:
        time.sleep(0.001)
    assert condition()


@pytest.fixture(autouse=True)
def only_when_asked() -> Any:
    """No collection but those of the tests."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_in_the_breakers_lock() -> None:
    """A call in flight is closed while another one opens the circuit."""
    limit = settings.Bulkhead(max_concurrent=5)
    policy = Policy(circuit_breaker=BREAKER, bulkhead=limit, random=_Collecting())

    async def main() -> None:
        _Cycle(policy.call(_hang))
        assert policy.gate.in_use == 1
        with pytest.raises(OSError, match="down"):
            await policy.call(_fail)

    asyncio.run(main())
    assert policy.circuit_breaker.state == "open"
    _wait_for(lambda: policy.gate.in_use == 0)


def test_in_the_bulkheads_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """One who waits for a slot is closed while slots are granted."""
    limit = settings.Bulkhead(max_concurrent=1, max_queue=5, max_wait=60.0)
    policy = Policy(bulkhead=limit)
    serve = Waiters.serve

    def collect_first(waiters: Waiters) -> list[Waiter]:
        gc.collect()
        return serve(waiters)

    async def main() -> None:
        release = asyncio.Event()
        first = asyncio.create_task(policy.call(release.wait))
        await asyncio.sleep(0)
        _Cycle(policy.call(_hang))
        assert policy.bulkhead.waiting == 1
        monkeypatch.setattr(Waiters, "serve", collect_first)
        release.set()
        await first
        assert await policy.call(asyncio.sleep, 0, 7) == 7

    asyncio.run(main())
    _wait_for(lambda: policy.gate.count == 0)
    assert policy.bulkhead.waiting == 0
