"""F12 to F17 against enumeration and exact sums."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.lint.formulas.breaker import (
    binomial_tail,
    detection_time,
    failures_needed,
    false_close,
    false_trip,
    false_trips_per_day,
    probe_load,
    shard_failure_ratio,
    window_attempts,
)


def exact_tail(calls: int, failure: Fraction, least: int) -> Fraction:
    """The tail in exact arithmetic."""
    return sum(
        (
            math.comb(calls, k) * failure**k * (1 - failure) ** (calls - k)
            for k in range(max(least, 0), calls + 1)
        ),
        Fraction(0),
    )


@given(
    calls=st.integers(1, 60),
    percent=st.integers(0, 100),
    least=st.integers(-1, 62),
)
def test_binomial_tail_is_the_exact_sum(calls: int, percent: int, least: int) -> None:
    """Relative error below 1e-9 over the whole range, tiny tails included."""
    exact = float(exact_tail(calls, Fraction(percent, 100), least))
    found = binomial_tail(calls, percent / 100, least)
    assert math.isclose(found, exact, rel_tol=1e-9, abs_tol=1e-15)


@given(calls=st.integers(1, 9), percent=st.integers(1, 99), least=st.integers(0, 9))
def test_binomial_tail_by_enumeration(calls: int, percent: int, least: int) -> None:
    """Every sequence of outcomes, weighted by its chance."""
    p = percent / 100
    total = math.fsum(
        math.prod(p if failed else 1 - p for failed in outcome)
        for outcome in product((True, False), repeat=calls)
        if sum(outcome) >= least
    )
    assert math.isclose(binomial_tail(calls, p, least), total, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("ratio", "calls", "failure", "expected"),
    [
        (0.1, 10, 0.01, 0.096),
        (0.1, 20, 0.01, 0.017),
        (0.1, 100, 0.01, 8e-8),
        (0.5, 10, 0.01, 2e-8),
    ],
)
def test_published_false_trips(
    ratio: float, calls: int, failure: float, expected: float
) -> None:
    """The examples of the catalogue, to their printed digits."""
    assert math.isclose(false_trip(calls, ratio, failure), expected, rel_tol=0.25)


@given(st.integers(1, 100), st.integers(1, 10_000))
def test_failures_needed_is_exact(percent: int, calls: int) -> None:
    """The smallest count whose share reaches the ratio, without binary rounding."""
    needed = failures_needed(calls, percent / 100)
    assert Fraction(needed, calls) >= Fraction(percent, 100)
    assert Fraction(needed - 1, calls) < Fraction(percent, 100)


@pytest.mark.parametrize(
    ("successes", "expected"), [(1, 0.5), (2, 0.25), (3, 0.125), (5, 0.03125)]
)
def test_false_close(successes: int, expected: float) -> None:
    """At 50 % failures each further good probe halves the chance of a false close."""
    assert false_close(0.5, successes) == expected


def test_window_and_detection() -> None:
    """20/s over 10 processes for 10 s; 5 failures at 2/s after a 3 s timeout."""
    assert window_attempts(2.0, 10.0) == 20.0
    assert window_attempts(2.0, 10.0, attempts=3, partitions=4) == 15.0
    assert detection_time(3.0, 5, 2.0) == 5.5
    assert detection_time(3.0, 5, 0.0) == math.inf


def test_probe_load_of_the_published_example() -> None:
    """42 dependencies, 250 ms probes, 2 s open, 2 threads: 233 %; 50 ms and 30 s: 3.5 %.

    The published 263 % and 4 % leave the probe time out of the cycle.
    """
    assert math.isclose(probe_load(42, 1, 0.25, 2.0, 2), 42 * 0.25 / (2.25 * 2))
    assert math.isclose(probe_load(42, 1, 0.05, 30.0, 2), 42 * 0.05 / (30.05 * 2))
    assert probe_load(1, 1, 0.1, 1.0, 0) == math.inf


def test_rates_and_shards() -> None:
    """1 % false trips of windows of 100 calls at 10/s are 86.4 a day."""
    assert math.isclose(false_trips_per_day(0.01, 100, 10.0), 86.4)
    assert shard_failure_ratio(4) == 0.25


@given(timeout=st.floats(0, 60), needed=st.integers(0, 200), tenths=st.integers(1, 400))
def test_detection_by_the_schedule(timeout: float, needed: int, tenths: int) -> None:
    """Calls begin one gap apart and each fails after its timeout."""
    gap = 10 / tenths
    ends = [number * gap + timeout for number in range(needed + 1)]
    found = detection_time(timeout, needed, tenths / 10)
    assert math.isclose(found, ends[-1], rel_tol=1e-9, abs_tol=1e-9)


@given(
    dependencies=st.integers(1, 50),
    probes=st.integers(1, 6),
    probe_ms=st.integers(1, 5_000),
    open_ms=st.integers(0, 60_000),
    threads=st.integers(1, 40),
)
def test_probe_load_by_simulation(
    dependencies: int, probes: int, probe_ms: int, open_ms: int, threads: int
) -> None:
    """Cycle after cycle: open, then one probe after another, for each dead callee."""
    clock = busy = 0
    for _ in range(3):
        clock += open_ms
        for _ in range(probes):
            clock += probe_ms
            busy += dependencies * probe_ms
    found = probe_load(dependencies, probes, probe_ms / 1000, open_ms / 1000, threads)
    assert math.isclose(found, busy / (clock * threads), rel_tol=1e-9)


@given(calls=st.integers(1, 8), percent=st.integers(1, 100), tenths=st.integers(1, 9))
def test_false_trips_by_enumeration(calls: int, percent: int, tenths: int) -> None:
    """Every window whose share of failures reaches the ratio, weighted by its chance."""
    total = Fraction(0)
    for outcome in product((True, False), repeat=calls):
        if Fraction(sum(outcome), calls) >= Fraction(percent, 100):
            chances = (Fraction(tenths if f else 10 - tenths, 10) for f in outcome)
            total += math.prod(chances, start=Fraction(1))
    found = false_trip(calls, percent / 100, tenths / 10)
    assert math.isclose(found, float(total), rel_tol=1e-9)


@given(successes=st.integers(1, 8), tenths=st.integers(0, 10))
def test_false_closes_by_enumeration(successes: int, tenths: int) -> None:
    """Of all sequences of probes only the one without a failure closes."""
    total = Fraction(0)
    for outcome in product((True, False), repeat=successes):
        if not any(outcome):
            chances = (Fraction(tenths if f else 10 - tenths, 10) for f in outcome)
            total += math.prod(chances, start=Fraction(1))
    found = false_close(tenths / 10, successes)
    assert math.isclose(found, float(total), rel_tol=1e-9, abs_tol=1e-12)
