"""C24: hedged calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.hedge import BURST
from policyctl.runtime.policy import Policy


def _policy(**more: Any) -> Policy:
    defaults: dict[str, Any] = {
        "idempotent": True,
        "hedge": settings.Hedge(delay=0.005, budget=0.1),
    }
    return Policy(**defaults | more)


class Backend:
    """Answers after the seconds of a list, or raises what is in it."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.calls = self.cancelled = 0

    async def __call__(self) -> int:
        """One request; the answer is its number."""
        number = self.calls
        step = self.steps[min(number, len(self.steps) - 1)]
        self.calls += 1
        if isinstance(step, type):
            raise step(number)
        try:
            await asyncio.sleep(step)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return number


async def test_fast_answer_is_not_hedged() -> None:
    """Nothing more is sent when the first answers in time."""
    backend = Backend(0)
    assert await _policy().call(backend) == 0
    assert backend.calls == 1


async def test_first_success_wins_and_the_loser_is_neutral() -> None:
    """The hedge answers, the first is cancelled; no failure, no slot left."""
    policy = _policy(
        circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
        bulkhead=settings.Bulkhead(max_concurrent=5),
    )
    backend = Backend(30, 0)
    assert await policy.call(backend) == 1
    await asyncio.sleep(0)
    assert backend.cancelled == 1
    assert policy.circuit_breaker.state == "closed"
    assert policy.bulkhead.in_use == 0


async def test_failed_hedge_does_not_end_the_call() -> None:
    """The first still wins when the hedge fails."""
    backend = Backend(0.03, OSError)
    assert await _policy().call(backend) == 0
    assert backend.calls == 2


async def test_early_failure_is_the_answer() -> None:
    """A hedge is no retry: a failure before the delay comes out."""
    backend = Backend(OSError)
    with pytest.raises(OSError):
        await _policy().call(backend)
    assert backend.calls == 1


async def test_no_more_than_max_hedges() -> None:
    """With two hedges there are three requests, whatever the time."""
    hedge = settings.Hedge(delay=0.002, max_hedges=2)
    backend = Backend(0.05)
    # On a slow machine the loop sees several of them end in the same step.
    assert await _policy(hedge=hedge).call(backend) in (0, 1, 2)
    assert backend.calls == 3


async def test_hedges_are_a_share_of_calls() -> None:
    """After the burst, a ratio of 10 % allows one hedge in ten calls."""
    policy = _policy(hedge=settings.Hedge(delay=0.0, budget=0.1))
    hedges = 0
    for _ in range(60):
        backend = Backend(0.002)
        await policy.call(backend)
        hedges += backend.calls - 1
    assert hedges <= BURST + 0.1 * 60


async def test_probes_are_never_hedged() -> None:
    """In half-open the single probe stays single."""
    policy = _policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            half_open_max_calls=5,
            recovery_timeout=settings.Recovery(initial=0.01, jitter=0.0),
        )
    )
    with pytest.raises(OSError):
        await policy.call(Backend(OSError))
    await asyncio.sleep(0.02)
    backend = Backend(0.02)
    await policy.call(backend)
    assert backend.calls == 1


@pytest.mark.timing
async def test_callers_cancel_reaches_all_attempts() -> None:
    """Nothing runs on after the caller has gone."""
    policy = _policy(bulkhead=settings.Bulkhead(max_concurrent=5))
    backend = Backend(30)
    task = asyncio.create_task(policy.call(backend))
    await asyncio.sleep(0.03)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert backend.calls == backend.cancelled == 2
    assert policy.bulkhead.in_use == 0


def test_what_cannot_be_hedged_is_refused() -> None:
    """Plain functions, retry beside it, and operations that are not idempotent."""
    with pytest.raises(PolicyConfigError, match="plain function"):
        _policy()(len)
    with pytest.raises(PolicyConfigError, match="idempotent"):
        _policy(idempotent=None)
    with pytest.raises(PolicyConfigError, match="retries too"):
        _policy(retry=settings.Retry())
