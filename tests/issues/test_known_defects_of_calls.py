"""Defects of the code that policyctl replaces, each with a test that fails on its form.

Those of queues and their stores are in ``test_known_defects_of_queues.py``; late results
are held by ``tests/runtime/test_breaker_model.py`` too.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, remaining_budget, require_budget
from policyctl.runtime.budget_header import parse_budget_header
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BulkheadFullError,
    CircuitOpenError,
    PolicyConfigError,
)
from policyctl.runtime.policy import Policy
from policyctl.testing import FakeClock


def breaker(**changes: Any) -> settings.CircuitBreaker:
    """Opens on the first failure, for 30 s."""
    return settings.CircuitBreaker(
        **{
            "failure_threshold": 1,
            "recovery_timeout": settings.Recovery(initial=30.0, jitter=0.0),
            "success_threshold": 1,
            "record_on": ("OSError",),
            **changes,
        }
    )


class Work:
    """Runs until it is told to return or to raise."""

    def __init__(self) -> None:
        self.running: list[asyncio.Future[None]] = []

    async def __call__(self) -> str:
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.running.append(end)
        await end
        return "done"


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.timing
async def test_limits_of_coroutines_need_no_foreign_scope() -> None:
    """``async with`` on a cancel scope that is not async: a limit just works."""
    policy = Policy(attempt_timeout=settings.AttemptTimeout(total=0.02))
    with pytest.raises(AttemptTimeoutError):
        await policy.call(asyncio.sleep, 5)
    async with asyncio.timeout(1):  # and ours nests with the standard library's
        with pytest.raises(AttemptTimeoutError):
            await policy.call(asyncio.sleep, 5)


async def test_the_wait_for_a_slot_does_not_limit_the_call(clock: FakeClock) -> None:
    """The slot-wait timeout wrapped the call, so that every call over it was cut."""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=2.0))
    work = Work()
    task = asyncio.create_task(policy.call(work))
    await settle()
    clock.advance(3600.0)
    await settle()
    assert not task.done()
    work.running[0].set_result(None)
    assert await task == "done"


async def test_waiting_callers_do_not_rush_into_half_open(clock: FakeClock) -> None:
    """All who waited for a slot became probes; only the permitted ones may."""
    policy = Policy(
        circuit_breaker=breaker(half_open_max_calls=1),
        bulkhead=settings.Bulkhead(max_concurrent=5, max_queue=9, max_wait=9.0),
    )
    work = Work()
    first = [asyncio.create_task(policy.call(work)) for _ in range(5)]
    await settle()
    waiting = [asyncio.create_task(policy.call(work)) for _ in range(9)]
    await settle()
    work.running[0].set_exception(OSError())
    await settle()
    for task in waiting:
        assert isinstance(task.exception(), CircuitOpenError)
    clock.advance(30.0)
    late = [asyncio.create_task(policy.call(work)) for _ in range(9)]
    await settle()
    assert len(work.running) == 6
    for end in work.running[1:]:
        end.set_result(None)
    await asyncio.wait([*first, *late])
    refused = [isinstance(task.exception(), CircuitOpenError) for task in late]
    assert sorted(refused) == [False, *[True] * 8]


async def test_a_late_failure_does_not_push_the_recovery_out(clock: FakeClock) -> None:
    """It reset the instant of opening, again and again under load."""
    policy = Policy(circuit_breaker=breaker())
    work = Work()
    tasks = [asyncio.create_task(policy.call(work)) for _ in range(2)]
    await settle()
    work.running[0].set_exception(OSError())
    await settle()
    clock.advance(29.0)
    work.running[1].set_exception(OSError())
    await asyncio.wait(tasks)
    for task in tasks:
        assert isinstance(task.exception(), OSError)
    assert policy.circuit_breaker.retry_after == 1.0
    clock.advance(1.0)
    assert policy.circuit_breaker.state == "half_open"


async def test_a_success_from_the_past_does_not_close(clock: FakeClock) -> None:
    """A slow call from before the break closed the circuit that had just opened."""
    policy = Policy(circuit_breaker=breaker())
    work = Work()
    tasks = [asyncio.create_task(policy.call(work)) for _ in range(3)]
    await settle()
    work.running[0].set_exception(OSError())
    await settle()
    work.running[1].set_result(None)
    await settle()
    assert policy.circuit_breaker.state == "open"
    clock.advance(30.0)
    work.running[2].set_result(None)
    await asyncio.wait(tasks)
    assert tasks[0].exception() is not None
    assert policy.circuit_breaker.state == "half_open"


@pytest.mark.timing
async def test_a_short_budget_changes_no_shared_limit() -> None:
    """One request with little time left shrank the limit of all others for ever."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=5.0),
        bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=2.0),
    )
    before = dict(policy.settings), policy.attempt_limit
    with budget(0.05):
        assert await policy.call(asyncio.sleep, 0, "quick") == "quick"
    assert (policy.settings, policy.attempt_limit) == before
    with pytest.raises(AttributeError, match="immutable"):
        policy.settings["bulkhead"].max_wait = 0.05


def test_no_budget_is_no_limit() -> None:
    """A budget that was never set read as one that had expired."""
    assert remaining_budget() is None
    require_budget(3600.0)
    assert Policy(budget=settings.Budget(total=None)).call(lambda: "ran") == "ran"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "abc", "", "1e400", "1,5"])
def test_odd_headers_are_ignored(value: str) -> None:
    """They made the budget unlimited, negative, or the request a 500."""
    assert parse_budget_header([value], "s", 30.0) == (None, "ignored")


def test_a_negative_header_has_expired() -> None:
    """-5 was taken for time left."""
    assert parse_budget_header(["-5"], "s", 30.0)[0] == 0.0


@pytest.mark.parametrize("size", [0, -1])
def test_a_queue_of_no_size_is_refused(size: int) -> None:
    """Size 0 divided by zero when the fill level was asked for."""
    from policyctl.runtime.queues.settings import QueueSettings, Sqlite

    with pytest.raises(PolicyConfigError, match="max_size"):
        QueueSettings(store=Sqlite(path="queue.db"), max_size=size)


def test_a_bulkhead_without_queue_has_numbers() -> None:
    """No places to wait are fine, and statistics divide by none of them."""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=0))

    def inside() -> dict[str, Any]:
        with pytest.raises(BulkheadFullError):
            policy.call(lambda: None)
        return policy.bulkhead.statistics()

    assert policy.call(inside)["in_use"] == 1


def test_the_call_that_opens_raises_its_own_error() -> None:
    """The trip replaced the real error by one of the breaker."""
    policy = Policy(circuit_breaker=breaker())
    real = OSError("disk on fire")

    def fail() -> None:
        raise real

    with pytest.raises(OSError) as caught:
        policy.call(fail)
    assert caught.value is real
    assert policy.circuit_breaker.state == "open"


def test_wall_time_is_not_asked(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks and waits were measured on a clock that people set."""
    import time

    def fail() -> None:
        raise OSError

    policy = Policy(circuit_breaker=breaker())
    with pytest.raises(OSError):
        policy.call(fail)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert policy.circuit_breaker.state == "open"
    clock.advance(30.0)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert policy.circuit_breaker.state == "half_open"
