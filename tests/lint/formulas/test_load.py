"""F5 to F8 and F18 to F21 against enumeration, simulation and published numbers."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.lint.formulas.load import (
    budgeted_amplification,
    burst_retries,
    cold_amplification,
    expected_attempts,
    hedge_amplification,
    hidden_capacity,
    is_vulnerable,
    origin_rate,
    reconnect_window,
    recovery_time,
    success_share,
    sustained_ratio,
    throttled_rate,
    total_share_amplification,
    trigger_backlog,
    wave_rate,
)


@given(st.floats(0, 1), st.integers(1, 6))
def test_attempts_by_enumeration(failure: float, attempts: int) -> None:
    """Every sequence of outcomes, weighted by its chance."""
    mean, success = 0.0, 0.0
    for outcome in product((True, False), repeat=attempts):
        chance = math.prod(failure if failed else 1 - failure for failed in outcome)
        made = outcome.index(False) + 1 if False in outcome else attempts
        mean += chance * made
        success += chance * (False in outcome)
    assert math.isclose(expected_attempts(failure, attempts), mean, abs_tol=1e-9)
    assert math.isclose(success_share(failure, attempts), success, abs_tol=1e-9)


def token_bucket(ratio: float, floor: float, clients: int, per_client: int) -> float:
    """Retries per first try in a long total failure, one second at a time."""
    tokens, retries, seconds = 0.0, 0, 2_000
    for _ in range(seconds):
        tokens += ratio * per_client + floor
        granted = min(int(tokens), 2 * per_client)
        tokens -= granted
        retries += granted
    return retries * clients / (seconds * per_client * clients)


@pytest.mark.parametrize(
    ("ratio", "floor", "per_client"), [(0.1, 0.0, 10), (0.2, 1.0, 5), (0.0, 0.5, 4)]
)
def test_sustained_ratio_by_simulation(
    ratio: float, floor: float, per_client: int
) -> None:
    """A token bucket that first tries refill settles at b + m N / lam."""
    clients = 7
    formula = sustained_ratio(ratio, True, floor, clients, clients * per_client)
    assert math.isclose(
        formula, token_bucket(ratio, floor, clients, per_client), rel_tol=0.01
    )


def test_budgets() -> None:
    """Refilled on success only the floor is left; the attempts bound both."""
    assert sustained_ratio(0.2, False, 1.0, 50, 100.0) == 0.5
    assert sustained_ratio(0.2, False, 0.0, 50, 0.0) == 0.0
    assert sustained_ratio(0.2, True, 1.0, 50, 0.0) == math.inf
    assert budgeted_amplification(3, 0.5) == 1.5
    assert budgeted_amplification(3, 9.0) == 3
    assert burst_retries(300, 10) == 3000
    assert total_share_amplification(0.2) == 1.25
    assert total_share_amplification(1.0) == math.inf


def test_vulnerability() -> None:
    """Exactly the capacity is vulnerable; 600/s hide 200/s at three attempts."""
    assert is_vulnerable(100, 3, 300)
    assert not is_vulnerable(100, 3, 301)
    assert hidden_capacity(600, 3) == 200


@pytest.mark.parametrize(
    ("amplification", "seconds"),
    [(1.0, 66.7), (1.1, 96.1), (1.2, 151.3), (1.5, math.inf)],
)
def test_published_recovery_times(amplification: float, seconds: float) -> None:
    """C = 100, lam = 70, an outage of 30 s, a timeout of 1 s."""
    found = recovery_time(70, amplification, 100, 30, 1)
    assert found == seconds or abs(found - seconds) < 0.1


def test_short_outages_recover_at_once() -> None:
    """A backlog below the timeout hurts nobody."""
    assert recovery_time(70, 1.0, 100, 1.0, 1.0) == 0.0


def simulated_backlog(
    rho: float, factor: float, trigger: float, timeout: float
) -> float:
    """A fluid queue in small steps; whoever waits for longer than the timeout retries."""
    step = 0.001
    now, backlog = 0.0, 0.0
    while now < trigger:
        first = timeout * factor / (rho - factor)
        waves = sum(1 for j in range(1, 100) if now >= first + j * timeout)
        backlog += (rho * (1 + waves) - factor) * step
        now += step
    return backlog


@pytest.mark.parametrize(
    ("rho", "factor", "trigger", "timeout"),
    [(0.9, 0.3, 4.0, 1.0), (0.7, 0.0, 3.0, 1.0), (0.8, 0.5, 10.0, 0.5)],
)
def test_trigger_backlog_by_simulation(
    rho: float, factor: float, trigger: float, timeout: float
) -> None:
    """The closed sum equals the area under the arrivals less what is served."""
    formula = trigger_backlog(rho, factor, trigger, timeout)
    simulated = simulated_backlog(rho, factor, trigger, timeout)
    assert math.isclose(formula, simulated, rel_tol=0.01)


def test_triggers_that_leave_capacity_are_harmless() -> None:
    """A server that still serves all arrivals builds no backlog."""
    assert trigger_backlog(0.5, 0.6, 100.0, 1.0) == 0.0


def test_waves_caches_throttles_and_hedges() -> None:
    """The remaining one-line formulas."""
    assert wave_rate(1000, 10.0) == 100.0
    assert wave_rate(1000, 0.0) == math.inf
    assert reconnect_window(2_000_000, 20_000) == 100.0
    assert reconnect_window(1, 0) == math.inf
    assert throttled_rate(500, 100, 2.0) == 200
    assert throttled_rate(150, 100, 2.0) == 150
    assert math.isclose(cold_amplification(0.9), 10.0)
    assert cold_amplification(1.0) == math.inf
    assert math.isclose(origin_rate(3000, 0.95), 150)
    assert math.isclose(hedge_amplification(0.05, 1, 0.02), 1.02)
    assert hedge_amplification(1.0, 2, 5.0) == 3.0


@given(
    load=st.integers(1, 99),
    amplification=st.integers(1, 4),
    outage=st.integers(1, 300),
    timeout=st.floats(0.1, 20),
)
def test_recovery_ends_when_the_backlog_fits_into_the_timeout(
    load: int, amplification: int, outage: int, timeout: float
) -> None:
    """The backlog falls at what is left of the capacity, down to what callers wait for."""
    capacity, arriving = 100.0, float(load)
    found = recovery_time(
        arriving / amplification, amplification, capacity, outage, timeout
    )
    begin = arriving * outage
    if begin <= capacity * timeout:
        assert found == 0.0
        return
    left = begin + arriving * found - capacity * found
    assert math.isclose(left, capacity * timeout, rel_tol=1e-6)


def test_formulas_at_their_limits() -> None:
    """Load equal to capacity never drains; rates and windows below one are divided by."""
    assert expected_attempts(1.0, 3) == 3.0
    assert recovery_time(50, 2.0, 100, 30, 1) == math.inf
    assert trigger_backlog(0.5, 0.5, 100.0, 1.0) == 0.0
    assert sustained_ratio(0.1, True, 0.5, 2, 0.5) == 2.1
    assert wave_rate(10, 0.5) == 20.0
    assert reconnect_window(1, 0.5) == 2.0


@given(
    latencies=st.lists(st.integers(1, 100), min_size=1, max_size=50),
    delay=st.integers(1, 100),
    hedges=st.integers(1, 3),
    percent=st.integers(0, 300),
)
def test_hedges_by_counting(
    latencies: list[int], delay: int, hedges: int, percent: int
) -> None:
    """All hedges of each call that outlasts the delay, as far as the budget grants."""
    slow = [latency for latency in latencies if latency > delay]
    extra = min(percent / 100, len(slow) * hedges / len(latencies))
    found = hedge_amplification(len(slow) / len(latencies), hedges, percent / 100)
    assert math.isclose(found * len(latencies), len(latencies) * (1 + extra))


@given(
    requests=st.lists(st.booleans(), min_size=1, max_size=60),
    share=st.integers(0, 9),
)
def test_caches_and_shares_by_counting(requests: list[bool], share: int) -> None:
    """The origin gets the misses, all when cold; a tenth of all makes 10 of 9."""
    hits = sum(requests)
    ratio = hits / len(requests)
    misses = origin_rate(len(requests), ratio)
    assert math.isclose(misses, len(requests) - hits, abs_tol=1e-9)
    if hits < len(requests):
        assert math.isclose(misses * cold_amplification(ratio), len(requests))
    first = 10 - share
    assert math.isclose(first * total_share_amplification(share / 10), 10)


@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 50), st.integers(2, 5))
def test_throttled_clients_by_simulation(
    wanted: int, served: int, seconds: int, factor: int
) -> None:
    """Clients that hold sent requests to K times the accepted ones settle at K x those."""
    accepted = min(wanted, served)
    sent = wanted
    for _ in range(seconds):
        sent = min(wanted, factor * min(sent, served))
    assert throttled_rate(wanted, accepted, factor) == sent
