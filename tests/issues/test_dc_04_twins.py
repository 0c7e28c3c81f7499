"""DC-04: the same decorator on ``def`` and ``async def`` counts the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock, record_events

LATE, WRONG = TimeoutError("late"), ValueError("wrong")


def steps(seed: int) -> list[Any]:
    """A seeded script of outcomes and waits."""
    rng = random.Random(seed)
    return [rng.choice(["ok", LATE, LATE, WRONG, 5.0, 31.0]) for _ in range(60)]


async def history(form: Any, seed: int, settle: Any) -> list[Any]:
    """Outcome, state and count after each step, and all transitions."""
    policy = Policy(
        service="dc04",
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=3,
            failure_ratio=0.6,
            minimum_calls=8,
            window=settings.Window(calls=10),
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
            record_on=("timeout",),
        ),
    )
    current: list[Any] = [None]

    def fn() -> Any:
        if isinstance(current[0], Exception):
            raise current[0]
        return current[0]

    call = form.guard(policy, fn)
    seen: list[Any] = []
    with fake_clock() as clock, record_events("dc04") as events:
        for step in steps(seed):
            if isinstance(step, float):
                clock.advance(step)
                continue
            current[0] = step
            outcome = await settle(call())
            view = policy.circuit_breaker
            seen.append((repr(outcome), view.state, view.failures, view.retry_after))
        seen.append([(e.data["old"], e.data["new"]) for e in events.of("transition")])
    return seen


@pytest.mark.parametrize("seed", range(20))
async def test_both_forms_have_one_history(seed: int, form: Any, settle: Any) -> None:
    """Identical counters and transitions for an identical script."""
    other = type(form)(not form.is_async)
    one = await history(form, seed, settle)
    assert one == await history(other, seed, settle)
    assert len({state for _, state, *_ in one[:-1]}) > 1
