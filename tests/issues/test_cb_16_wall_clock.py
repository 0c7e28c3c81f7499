"""CB-16: jumps of the wall clock change nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, remaining_budget
from policyctl.runtime.clock import Clock
from policyctl.runtime.errors import BulkheadFullError
from policyctl.runtime.policy import Policy

DAY = 86400.0
WALL = time.time()


@pytest.mark.parametrize("jump", [-DAY, DAY])
async def test_a_break_ends_by_monotonic_time(
    form: Any,
    script: Any,
    settle: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    jump: float,
) -> None:
    """The wall clock is set a day back or forward while the circuit is open."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
        )
    )
    call = form.guard(policy, script(TimeoutError()))
    with budget(60.0):
        await settle(call())
        wall = time.time
        monkeypatch.setattr(time, "time", lambda: wall() + jump)
        assert policy.circuit_breaker.state == "open"
        assert policy.circuit_breaker.retry_after == 30.0
        clock.advance(30.0)
        assert policy.circuit_breaker.state == "half_open"
        assert remaining_budget() == 30.0


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_tokens_and_waits_go_by_monotonic_time(
    clock: Any, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Retry tokens, rate-limit tokens and the last instant for a retry do not drift."""
    share = settings.RetryBudget(ratio=0.0, floor=1.0, burst=1)
    policy = Policy(
        budget=settings.Budget(total=5.0),
        retry=settings.Retry(
            max_attempts=100,
            retry_on=("timeout",),
            backoff=settings.Backoff(initial=1.5, max=1.5, jitter="none"),
            budget=share,
        ),
        rate_limit=settings.RateLimit(rate=1.0, burst=2),
    )
    entries: list[float] = []

    def work() -> None:
        entries.append(clock.now() - begun)
        monkeypatch.setattr(time, "time", lambda: WALL + jump * len(entries))
        raise TimeoutError

    begun = clock.now()
    with pytest.raises(TimeoutError) as caught:
        policy.call(work)
    # One retry token comes back a second, a rate token too; 6 s are over the budget.
    assert entries == [0.0, 1.5, 3.0, 4.5]
    assert "0.500 s of the budget left" in caught.value.__notes__[0]


@pytest.mark.parametrize("jump", [-DAY, DAY])
async def test_a_wait_for_a_slot_goes_by_monotonic_time(
    clock: Any, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """A jump neither ends nor prolongs it."""
    policy = Policy(bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=5.0))
    gate = asyncio.Event()
    holder = asyncio.create_task(policy.call(gate.wait))
    await asyncio.sleep(0)
    waiter = asyncio.create_task(policy.call(gate.wait))
    await asyncio.sleep(0)
    monkeypatch.setattr(time, "time", lambda: WALL + jump)
    clock.advance(4.9)
    await asyncio.sleep(0.02)
    assert not waiter.done()
    clock.advance(0.1)
    with pytest.raises(BulkheadFullError):
        await waiter
    gate.set()
    await holder


def test_the_clock_of_the_machine_is_monotonic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a clock for tests too, a wall clock in 1970 is not looked at."""
    monkeypatch.setattr(time, "time", lambda: 0.0)
    before = time.monotonic()
    assert before <= Clock().now() <= time.monotonic()
