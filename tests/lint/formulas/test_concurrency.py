"""F9 to F11 against exact sums and a simulated queue."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.lint.formulas.concurrency import (
    bulkhead_size,
    erlang_b,
    hanging_load,
    in_flight,
    queue_wait,
    slots_for,
)


def exact_erlang(servers: int, offered: Fraction) -> Fraction:
    """Erlang's first formula: (a^c / c!) / sum of a^k / k!."""
    terms = [offered**k / math.factorial(k) for k in range(servers + 1)]
    return terms[-1] / sum(terms, Fraction(0))


@given(st.integers(0, 60), st.integers(1, 8000))
def test_erlang_b_is_the_exact_ratio(servers: int, hundredths: int) -> None:
    """The recursion equals the ratio of sums."""
    exact = float(exact_erlang(servers, Fraction(hundredths, 100)))
    assert math.isclose(erlang_b(servers, hundredths / 100), exact, rel_tol=1e-9)


def test_published_erlang_value() -> None:
    """1,000 threads and 5,095 offered: 0.8038; the simple bound says 0.8037."""
    assert math.isclose(erlang_b(1000, 5095.0), 0.8038, abs_tol=5e-5)
    assert erlang_b(0, 0.0) == 1.0
    assert erlang_b(5, 0.0) == 0.0
    assert erlang_b(100_000, 1.0) == 0.0


@given(st.floats(0.01, 200), st.floats(0.0001, 0.5))
def test_slots_for_is_the_smallest(offered: float, blocking: float) -> None:
    """One slot less would turn away too many."""
    slots = slots_for(offered, blocking)
    assert erlang_b(slots, offered) <= blocking
    assert slots == 0 or erlang_b(slots - 1, offered) > blocking


def last_served(queue: int, workers: int, milliseconds: int) -> int:
    """When the last of a full queue begins, all workers being just about to finish one."""
    free = [milliseconds] * workers
    start = 0
    for _ in range(queue):
        start = min(free)
        free[free.index(start)] = start + milliseconds
    return start


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 500))
def test_queue_wait_bounds_the_simulation(
    queue: int, workers: int, milliseconds: int
) -> None:
    """The bound is met to within one service time."""
    exact = last_served(queue, workers, milliseconds) / 1000
    bound = queue_wait(queue, workers, milliseconds / 1000)
    assert bound <= exact + 1e-9 <= bound + milliseconds / 1000 + 1e-9


@pytest.mark.parametrize(("offered", "slots"), [(0.0, 1), (4.0, 10), (20.0, 34)])
def test_rule_of_thumb(offered: float, slots: int) -> None:
    """a + 3 sqrt(a), at least one."""
    assert bulkhead_size(offered) == slots


def test_little_and_mixed_load() -> None:
    """50/s for 3 s; 1,000/s of which 5 % hang for 100 s and the rest takes 0.1 s."""
    assert in_flight(50, 3) == 150
    assert math.isclose(hanging_load(1000, 0.05, 100, 0.1), 5095.0)
