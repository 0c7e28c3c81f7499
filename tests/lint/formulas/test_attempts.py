"""F3 against a simulation of the schedule, attempt by attempt."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.lint.formulas.attempts import (
    Reachable,
    fast_run_time,
    longest_wait,
    reachable_attempts,
    run_time,
)
from policyctl.resolve.policy import Backoff, Jitter

MILLISECONDS = st.integers(0, 20_000)
NONE = Jitter("none")


def simulate(
    attempt: int, wait: int, initial: int, cap: int, attempts: int, total: int
) -> Reachable:
    """Walk through the worst case in whole milliseconds: no rounding anywhere."""
    now, started, full = Fraction(0), 0, 0
    delay = Fraction(initial)
    for number in range(1, attempts + 1):
        if number > 1:
            now += min(Fraction(cap), delay)
            delay *= 2
        if now >= total:
            break
        started = number
        now += wait + attempt
        if now <= total:
            full = number
    return Reachable(started, full)


@given(
    attempt=st.integers(1, 20_000),
    wait=MILLISECONDS,
    initial=MILLISECONDS,
    cap=st.integers(1, 20_000),
    attempts=st.integers(1, 8),
    total=st.integers(1, 60_000),
)
def test_counts_agree_with_a_simulation(
    attempt: int, wait: int, initial: int, cap: int, attempts: int, total: int
) -> None:
    """Both counts equal those of an exact walk through the worst case."""
    backoff = Backoff(initial / 1000, 2.0, cap / 1000, NONE)
    found = reachable_attempts(
        attempt / 1000, wait / 1000, backoff, attempts, total / 1000
    )
    assert found == simulate(attempt, wait, initial, cap, attempts, total)


def test_sums_of_decimals_meet_their_bound() -> None:
    """3 x 0.1 s + 0.1 s + 0.2 s is 0.6 s, whatever binary fractions say."""
    backoff = Backoff(0.1, 2.0, None, NONE)
    assert reachable_attempts(0.1, 0.0, backoff, 3, 0.6) == Reachable(3, 3)
    assert reachable_attempts(0.1, 0.0, backoff, 3, 0.599) == Reachable(3, 2)


def test_minimum_keeps_attempts_from_starting() -> None:
    """Attempt 2 begins at 1.5 s of 2 s: it starts with a minimum of 0.5 s, not 0.6 s."""
    backoff = Backoff(0.5, 2.0, None, NONE)
    assert reachable_attempts(1.0, 0.0, backoff, 2, 2.0, 0.5) == Reachable(2, 1)
    assert reachable_attempts(1.0, 0.0, backoff, 2, 2.0, 0.6) == Reachable(1, 1)


def test_run_times() -> None:
    """4 x 10 s + 2 + 4 + 8 s = 54 s; with failures after 0.1 s: 3 x 0.1 + 14 + 10."""
    backoff = Backoff(2.0, 2.0, 10.0, NONE)
    assert run_time(10.0, 0.0, backoff, 4) == 54.0
    assert abs(fast_run_time(10.0, 0.1, 0.0, backoff, 4) - 24.3) < 1e-9


def test_a_million_attempts_are_counted_quickly() -> None:
    """Bisection needs twenty steps, not a million."""
    backoff = Backoff(0.001, 1.0, None, NONE)
    found = reachable_attempts(0.001, 0.0, backoff, 1_000_000, 10.0)
    assert found == Reachable(5000, 5000)


@pytest.mark.parametrize(
    ("backoff", "retries", "longest"),
    [
        (Backoff(1.0, 2.0, None, NONE), 1, 1.0),
        (Backoff(1.0, 2.0, None, NONE), 4, 8.0),
        (Backoff(1.0, 2.0, 5.0, NONE), 4, 5.0),
        (Backoff(1.0, 0.5, None, NONE), 4, 1.0),
        (Backoff(1.0, 2.0, None, Jitter("ratio", 0.25)), 2, 2.5),
        (Backoff(1.0, 2.0, None, Jitter("decorrelated")), 2, 9.0),
        (Backoff(1.0, 1.0, None, NONE), 1000, 1.0),
        (Backoff(1.0, 10.0, None, NONE), 1000, math.inf),
        (Backoff(1.0, 10.0, 60.0, NONE), 1000, 60.0),
    ],
)
def test_longest_single_wait(backoff: Backoff, retries: int, longest: float) -> None:
    """The last of growing waits, the first of shrinking ones, with the jitter on top."""
    assert longest_wait(backoff, retries) == longest
