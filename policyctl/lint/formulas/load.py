"""F5 to F8 and F18 to F21: what retries, waves, caches and hedges do to a callee.

Rates are per second, times seconds, shares 0 to 1.
"""

from __future__ import annotations

import math


def expected_attempts(failure: float, attempts: int) -> float:
    """F5: mean attempts of a call whose attempts fail independently with ``failure``:
    ``(1 - p^n) / (1 - p)``."""
    if failure >= 1:
        return float(attempts)
    return float((1 - failure**attempts) / (1 - failure))


def success_share(failure: float, attempts: int) -> float:
    """F5: the share of calls that succeed within ``attempts``: ``1 - p^n``."""
    return float(1 - failure**attempts)


def sustained_ratio(
    ratio: float, refill_on_request: bool, floor: float, clients: int, rate: float
) -> float:
    """F5: retries for each first try that a budget lets through while all calls fail.

    ``b + m N / lam`` if first tries refill it, ``m N / lam`` if only successes do;
    ``floor`` is retries/s of each client process, ``rate`` first tries/s of all.
    """
    granted = floor * clients / rate if rate > 0 else math.inf if floor > 0 else 0.0
    return (ratio if refill_on_request else 0.0) + granted


def budgeted_amplification(attempts: float, sustained: float) -> float:
    """F5: attempts for each first try under a retry budget: ``min(n, 1 + b_eff)``."""
    return min(attempts, 1 + sustained)


def burst_retries(clients: int, burst: int) -> int:
    """F5: retries that full buckets of all clients add once, at the start."""
    return clients * burst


def total_share_amplification(share: float) -> float:
    """F5: amplification where retries may be ``share`` of all traffic: ``1 / (1 - q)``."""
    return math.inf if share >= 1 else 1 / (1 - share)


def is_vulnerable(rate: float, amplification: float, capacity: float) -> bool:
    """F6: whether retries can keep the callee overloaded: ``lam A >= C``.

    Arrivals do not slow down, expired requests are still served, and capacity does not
    depend on load; where it falls under load this is necessary, not sufficient.
    """
    return rate * amplification >= capacity


def hidden_capacity(capacity: float, amplification: float) -> float:
    """F6: the rate up to which an overloaded callee recovers by itself: ``C / A``."""
    return capacity / amplification


def recovery_time(
    rate: float, amplification: float, capacity: float, outage: float, timeout: float
) -> float:
    """F7: seconds until calls succeed again after an ``outage`` whose backlog is kept.

    ``(lam A D0 - C tau) / (C - lam A)``; infinite if vulnerable, never negative.
    """
    load = rate * amplification
    if load >= capacity:
        return math.inf
    return max(0.0, (load * outage - capacity * timeout) / (capacity - load))


def trigger_backlog(
    utilisation: float, factor: float, trigger: float, timeout: float
) -> float:
    """F8: seconds of full-capacity work waiting when a trigger ends.

    During ``trigger`` seconds a first-in-first-out server keeps ``factor`` of its
    capacity; clients time out after ``timeout`` and retry at once. Timeouts begin for
    arrivals after ``x* = tau c' / (rho - c')``; the backlog is ``(rho - c') D0 + rho x
    sum over j >= 1 of max(0, D0 - x* - j tau)``. It collapses if that exceeds ``timeout``
    and rho A > 1.
    """
    if utilisation <= factor:
        return 0.0
    first = timeout * factor / (utilisation - factor)
    backlog = (utilisation - factor) * trigger
    waves = max(0, math.ceil((trigger - first) / timeout))
    later = math.fsum(
        max(0.0, trigger - first - j * timeout) for j in range(1, waves + 1)
    )
    return backlog + utilisation * later


def wave_rate(clients: int, window: float) -> float:
    """F18: clients per second when ``clients`` spread over ``window``; infinite for 0."""
    return math.inf if window <= 0 else clients / window


def reconnect_window(clients: int, accept_rate: float) -> float:
    """F18: seconds over which ``clients`` must spread: ``N / C_conn``."""
    return math.inf if accept_rate <= 0 else clients / accept_rate


def throttled_rate(rate: float, accepted: float, factor: float) -> float:
    """F19: what adaptive throttling sends: ``min(X, K x accepted)``."""
    return min(rate, factor * accepted)


def cold_amplification(hit_ratio: float) -> float:
    """F20: how much an empty cache multiplies the origin's load: ``1 / (1 - h)``."""
    return math.inf if hit_ratio >= 1 else 1 / (1 - hit_ratio)


def origin_rate(rate: float, hit_ratio: float) -> float:
    """F20: the origin's load behind a warm cache: ``lam (1 - h)``."""
    return rate * (1 - hit_ratio)


def hedge_amplification(over_delay: float, hedges: int, budget: float) -> float:
    """F21: attempts for each call with hedging: ``1 + min(budget, P(latency > g) h)``.

    ``over_delay`` is the share of calls that last longer than the hedge delay: 1 in a
    slowdown, when only the budget bounds the extra load.
    """
    return 1 + min(budget, over_delay * hedges)
