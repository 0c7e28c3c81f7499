"""C13, C14: tenacity strategies on their own."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from policyctl.runtime.classify import Classifier
from policyctl.runtime.gate import Gate
from policyctl.runtime.settings import Backoff, Retry
from policyctl.runtime.strategies import (
    RetryState,
    Strategies,
    exponential,
    wait_backoff,
)


def _state(number: int, previous: float = 0.0) -> RetryState:
    state = RetryState(print, (), {}, 0.0)
    state.attempt_number = number
    state.upcoming_sleep = previous
    return state


def test_exponential() -> None:
    """0.5 x 3^(i-1), capped at 10."""
    backoff = Backoff(initial=0.5, multiplier=3.0, max=10.0)
    assert [exponential(backoff, i) for i in range(1, 5)] == [0.5, 1.5, 4.5, 10.0]


def test_attempt_5000_does_not_overflow() -> None:
    """C14: with and without a max the delay stays a finite number."""
    assert exponential(Backoff(multiplier=9.0, max=5.0), 5000) == 5.0
    assert exponential(Backoff(multiplier=9.0, max=None), 5000) == 2_592_000.0
    assert exponential(Backoff(initial=0.0, max=None), 5000) == 0.0


@pytest.mark.parametrize(
    ("jitter", "low", "high"),
    [("none", 2.0, 2.0), ("full", 0.0, 2.0), ("equal", 1.0, 2.0), (0.25, 1.5, 2.5)],
)
def test_jitter_covers_its_range(jitter: Any, low: float, high: float) -> None:
    """C14: over many draws the delay fills the range of its kind and never leaves it."""
    wait = wait_backoff(
        Backoff(initial=1.0, multiplier=2.0, max=9.0, jitter=jitter), random.Random(7)
    )
    delays = [wait(_state(2)) for _ in range(500)]
    assert low <= min(delays) <= low + 0.05
    assert high - 0.05 <= max(delays) <= high


def test_ratio_is_capped_after_jitter() -> None:
    """C14: a ratio never lifts the delay over max."""
    wait = wait_backoff(
        Backoff(initial=1.0, multiplier=2.0, max=2.0, jitter=0.5), random.Random(7)
    )
    assert max(wait(_state(2)) for _ in range(200)) == 2.0


@given(st.floats(0.0, 50.0), st.integers(0, 2**32))
def test_decorrelated(previous: float, seed: int) -> None:
    """C14: min(max, uniform(initial, 3 x previous)), at least initial."""
    settings = Backoff(initial=0.5, multiplier=2.0, max=20.0, jitter="decorrelated")
    delay = wait_backoff(settings, random.Random(seed))(_state(3, previous))
    assert 0.5 <= delay <= min(20.0, max(0.5, 3 * previous))


def test_strategies_work_with_tenacity_itself() -> None:
    """C13: the objects drive tenacity's own loop and combine with its strategies."""
    settings = Retry(
        max_attempts=3,
        backoff=Backoff(initial=0.25, jitter="none"),
        retry_on=("ConnectionError",),
    )
    ours = Strategies(settings, random.Random(1), Classifier(retry=settings), Gate())
    slept: list[float] = []
    stop: Any = ours.stop
    loop = tenacity.Retrying(
        stop=stop | tenacity.stop_after_delay(60),
        wait=ours.wait,
        retry=ours.retry,
        sleep=slept.append,
        reraise=True,
    )
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        loop(fail)
    assert len(calls) == 3
    assert slept == [0.25, 0.5]


def test_state_has_the_shape_of_tenacitys() -> None:
    """Foreign strategies find the attributes of RetryCallState on our state."""
    theirs = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    names = {n for n in vars(theirs) if n != "retry_object"} | {"seconds_since_start"}
    assert {name for name in names if not hasattr(_state(1), name)} == set()
    state = _state(1)
    state.error = ValueError("x")
    assert state.outcome.failed
    state.error, state.result = None, 5
    assert state.outcome.result() == 5
