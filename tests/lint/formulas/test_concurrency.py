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
    refused_share,
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


def test_exactly_the_share_is_enough() -> None:
    """One slot turns away exactly half of one call in flight."""
    assert slots_for(1.0, 0.5) == 1


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


def chain_of_states(slots: int, offered: float, room: int) -> list[float]:
    """Shares of time with n calls in M/M/c/K, from the balance of neighbours."""
    weights = [1.0]
    for n in range(1, room + 1):
        weights.append(weights[-1] * offered / min(n, slots))
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def poisson_at_most(mean: float, most: int) -> float:
    """The chance of at most so many events."""
    term = total = math.exp(-mean)
    for n in range(1, most + 1):
        term *= mean / n
        total += term
    return total


@given(
    slots=st.integers(1, 12),
    busy=st.floats(0.05, 0.9),
    queue=st.integers(1, 30),
    services=st.floats(0.1, 4.0),
)
def test_refused_share_against_the_states_of_the_queue(
    slots: int, busy: float, queue: int, services: float
) -> None:
    """A full queue, and waits over ``max_wait``, from the chain of states itself.

    A call that finds n calls there waits for n - c + 1 departures, which come at the
    rate c / mean: it is late if at most n - c come within ``max_wait``.
    """
    offered, mean = busy * slots, 0.25
    full = chain_of_states(slots, offered, slots + queue)[-1]
    endless = chain_of_states(slots, offered, slots + 400)
    late = math.fsum(
        share * poisson_at_most(slots * services, n - slots)
        for n, share in enumerate(endless)
        if n >= slots
    )
    lost = chain_of_states(slots, offered, slots)[-1]
    found = refused_share(slots, offered, mean, queue, services * mean)
    assert math.isclose(found, min(lost, max(full, late)), rel_tol=1e-6, abs_tol=1e-12)


@pytest.mark.parametrize(("queue", "wait"), [(0, 1.0), (5, 0.0)])
def test_without_a_queue_it_is_erlangs_loss(queue: int, wait: float) -> None:
    """Nobody can wait, or nobody may."""
    assert refused_share(4, 1.0, 2.0, queue, wait) == erlang_b(4, 1.0)


def test_more_than_all_slots_need_no_queue() -> None:
    """Where offered load reaches the slots, a queue only fills."""
    assert refused_share(2, 2.0, 1.0, 100, 100.0) == erlang_b(2, 2.0)
