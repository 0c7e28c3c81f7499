"""F12 to F17: when circuit breakers decide, and how often they decide wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache


def window_attempts(
    rate_per_client: float, window: float, attempts: int = 1, partitions: int = 1
) -> float:
    """F12: attempts that one breaker sees in its window.

    ``rate_per_client`` is first tries per second of one process, ``window`` seconds,
    ``attempts`` the attempts of each call (the breaker sits inside the retry), and
    ``partitions`` the number of keys that the breaker is split by. The breaker can
    evaluate its ratios if this is at least ``minimum_calls``.
    """
    return rate_per_client * window * attempts / partitions


def detection_time(attempt: float, needed: int, rate_per_client: float) -> float:
    """F13: seconds from total failure to opening: ``t + max(0, k / lam_i)``.

    ``attempt`` is the time that a failure takes (the attempt timeout for a hang), and
    ``needed`` the number of attempts that must complete first.
    """
    if rate_per_client <= 0:
        return math.inf
    return attempt + max(0.0, needed / rate_per_client)


def failures_needed(calls: int, ratio: float) -> int:
    """``ceil(ratio x calls)``: failures among ``calls`` that reach the ratio.

    The ratio is taken as the decimal it was written as, so 7 % of 100 is 7.
    """
    return math.ceil(Fraction(repr(float(ratio))) * calls)


@lru_cache(maxsize=4096)
def binomial_tail(calls: int, failure: float, least: int) -> float:
    """P[Bin(calls, failure) >= least], by summing exact terms from the smaller side.

    Terms are formed in logarithms, so counts up to a million do not overflow.
    """
    if least <= 0:
        return 1.0
    if least > calls or failure <= 0:
        return 0.0
    if failure >= 1:
        return 1.0
    log_p, log_q = math.log(failure), math.log1p(-failure)

    def term(k: int) -> float:
        choose = (
            math.lgamma(calls + 1) - math.lgamma(k + 1) - math.lgamma(calls - k + 1)
        )
        return math.exp(choose + k * log_p + (calls - k) * log_q)

    if least > calls * failure:
        return min(1.0, _sum_terms(term, range(least, calls + 1)))
    return max(0.0, 1.0 - _sum_terms(term, range(least - 1, -1, -1)))


def _sum_terms(term: Callable[[int], float], ks: range) -> float:
    """Sum falling terms until they no longer count."""
    total = 0.0
    for k in ks:
        value = term(k)
        total += value
        if value < total * 1e-17:
            break
    return total


def false_trip(calls: int, ratio: float, failure: float) -> float:
    """F14: the chance that a healthy window of ``calls`` reaches ``ratio``.

    ``failure`` is the failure share of a healthy callee; calls fail independently,
    which real failures do not always: the result is an estimate.
    """
    return binomial_tail(calls, failure, max(1, failures_needed(calls, ratio)))


def false_trips_per_day(probability: float, calls: float, rate: float) -> float:
    """F14: expected false trips per day of a breaker: ``P x 86400 lam_i / calls``.

    Windows are taken as not overlapping, so this is a lower bound for rolling ones.
    """
    return probability * 86400 * rate / calls


def false_close(failure: float, successes: int) -> float:
    """F15: the chance that ``successes`` probes in a row succeed although a share
    ``failure`` of calls still fails: ``(1 - f)^g``."""
    return float((1 - failure) ** successes)


def probe_load(
    dependencies: int, probes: int, probe_time: float, open_time: float, threads: int
) -> float:
    """F16: the share of a pool's time that probes of dead callees take.

    ``dependencies x probes x t_probe / ((T_open + t_probe) x threads)``: each breaker
    is open for ``open_time`` seconds, then ``probes`` probes of ``probe_time`` seconds
    run one after another in a pool of ``threads`` workers.
    """
    cycle = open_time + probes * probe_time
    if cycle <= 0 or threads <= 0:
        return math.inf
    return dependencies * probes * probe_time / (cycle * threads)


def shard_failure_ratio(shards: int) -> float:
    """F17: the failure share that a caller sees when one of equal shards is dead."""
    return 1 / shards
