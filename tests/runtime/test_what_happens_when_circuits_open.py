"""The rows about circuit breakers of the table "What happens when" in docs/runtime.md."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy
from policyctl.testing import FakeClock, fake_clock


def breaker(**changes: Any) -> settings.CircuitBreaker:
    """Opens on the first timeout, for 30 s; one good probe closes it."""
    return settings.CircuitBreaker(
        **{
            "failure_threshold": 1,
            "recovery_timeout": settings.Recovery(initial=30.0, jitter=0.0),
            "success_threshold": 1,
            "record_on": ("TimeoutError",),
            **changes,
        }
    )


RETRY = settings.Retry(
    max_attempts=3,
    retry_on=("TimeoutError",),
    backoff=settings.Backoff(initial=1.0, jitter="none"),
)


def fail() -> None:
    """What a callee in trouble does."""
    raise TimeoutError("slow")


def open_it(policy: Policy) -> None:
    """One failure."""
    with pytest.raises(TimeoutError):
        policy.call(fail)


class Calls:
    """A coroutine function that hangs until it is told how to end."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.inside: list[asyncio.Future[str]] = []

    async def _work(self) -> str:
        self.inside.append(asyncio.get_running_loop().create_future())
        return await self.inside[-1]

    async def start(self) -> asyncio.Task[str]:
        """A guarded call that is in flight, or refused."""
        task = asyncio.create_task(self.policy.call(self._work))
        for _ in range(5):
            await asyncio.sleep(0)
        return task


def test_between_two_attempts() -> None:
    """What happens when the circuit opens between two attempts?"""
    policy = Policy(circuit_breaker=breaker(failure_threshold=2), retry=RETRY)
    entries: list[int] = []

    def work() -> None:
        entries.append(1)
        fail()

    with fake_clock() as clock, pytest.raises(TimeoutError, match="slow") as caught:
        policy.call(work)
    assert len(entries) == 2
    assert clock.slept == [1.0, 2.0]
    assert "circuit open" in caught.value.__notes__[0]


def test_at_the_first_attempt() -> None:
    """What happens when the circuit is open at the first attempt?"""
    policy = Policy(circuit_breaker=breaker(), retry=RETRY)
    with fake_clock() as clock:
        policy.circuit_breaker.force_open()
        with pytest.raises(CircuitOpenError):
            policy.call(fail)
        assert clock.slept == []


def test_a_fallback_for_it() -> None:
    """What happens when a `fallback_on: [circuit_open]` is there and a retry meets the open circuit?"""
    answer = settings.FallbackValue(value="cached", fallback_on=("circuit_open",))
    policy = Policy(circuit_breaker=breaker(), retry=RETRY, fallback=answer)
    with fake_clock():
        assert policy.call(fail) == "cached"
        assert policy.circuit_breaker.state == "open"
        assert policy.call(fail) == "cached"


def test_nobody_calls() -> None:
    """What happens when the break is over and nobody calls?"""
    policy = Policy(circuit_breaker=breaker())
    with fake_clock() as clock:
        open_it(policy)
        clock.advance(29.9)
        assert policy.circuit_breaker.state == "open"
        clock.advance(0.1)
        assert policy.circuit_breaker.state == "half_open"


async def test_eight_callers() -> None:
    """What happens when eight callers come at that moment?"""
    policy = Policy(circuit_breaker=breaker(half_open_max_calls=2))
    with fake_clock() as clock:
        open_it(policy)
        clock.advance(30.0)
        calls = Calls(policy)
        tasks = [await calls.start() for _ in range(8)]
        refused = [task for task in tasks if task.done()]
        assert len(calls.inside) == 2
        assert [type(task.exception()) for task in refused] == [CircuitOpenError] * 6
        for future in calls.inside:
            future.set_result("ok")
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_cancelled_probe() -> None:
    """What happens when a probe is cancelled?"""
    policy = Policy(circuit_breaker=breaker())
    with fake_clock() as clock:
        open_it(policy)
        clock.advance(30.0)
        calls = Calls(policy)
        probe = await calls.start()
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        assert policy.circuit_breaker.state == "half_open"
        again = await calls.start()
        assert len(calls.inside) == 2
        calls.inside[1].set_result("ok")
        assert await again == "ok"


async def test_a_hanging_probe() -> None:
    """What happens when a probe hangs?"""
    policy = Policy(circuit_breaker=breaker(half_open_max_wait=60.0))
    with fake_clock() as clock:
        open_it(policy)
        clock.advance(30.0)
        calls = Calls(policy)
        probe = await calls.start()
        clock.advance(59.0)
        assert policy.circuit_breaker.state == "half_open"
        clock.advance(1.0)
        assert policy.circuit_breaker.state == "open"
        calls.inside[0].set_result("ok")
        assert await probe == "ok"
        assert policy.circuit_breaker.state == "open"


@pytest.mark.parametrize("outcome", ["ok", TimeoutError()])
async def test_a_call_from_before(outcome: str | Exception) -> None:
    """What happens when a slow call from before the break fails or succeeds now?"""
    policy = Policy(circuit_breaker=breaker())
    with fake_clock() as clock:
        calls = Calls(policy)
        slow = await calls.start()
        open_it(policy)
        clock.advance(29.0)
        before = policy.circuit_breaker.retry_after
        if isinstance(outcome, Exception):
            calls.inside[0].set_exception(outcome)
        else:
            calls.inside[0].set_result(outcome)
        await asyncio.gather(slow, return_exceptions=True)
        assert policy.circuit_breaker.state == "open"
        assert policy.circuit_breaker.retry_after == before == 1.0


def test_an_unlisted_exception() -> None:
    """What happens when an exception is neither in `record_on` nor in `ignore_on`?"""
    policy = Policy(circuit_breaker=breaker(failure_threshold=2))
    error = KeyError("unlisted")

    def raise_it() -> None:
        raise error

    open_it(policy)
    with pytest.raises(KeyError) as caught:
        policy.call(raise_it)
    assert caught.value is error
    open_it(policy)  # the success between the two has cleared the count
    assert policy.circuit_breaker.state == "closed"


@pytest.mark.parametrize("jump", [-86400.0, 86400.0])
def test_wall_clock(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens when the wall clock jumps?"""
    wall = time.time
    policy = Policy(circuit_breaker=breaker())
    with fake_clock() as clock:
        open_it(policy)
        monkeypatch.setattr(time, "time", lambda: wall() + jump)
        assert policy.circuit_breaker.retry_after == 30.0
        turn(clock, policy)


def turn(clock: FakeClock, policy: Policy) -> None:
    """The break ends when the monotonic clock says so."""
    clock.advance(29.0)
    assert policy.circuit_breaker.state == "open"
    clock.advance(1.0)
    assert policy.circuit_breaker.state == "half_open"
