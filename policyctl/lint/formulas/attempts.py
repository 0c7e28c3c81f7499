"""F3: how many attempts of one call its time limit leaves room for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from policyctl.resolve.policy import Backoff
from policyctl.resolve.worst_case import longest_waits


@dataclass(frozen=True, slots=True)
class Reachable:
    """How many attempts can begin, and how many can last their whole timeout."""

    start: int
    full: int


def run_time(attempt: float, wait: float, backoff: Backoff, attempts: int) -> float:
    """Seconds that ``attempts`` slow attempts take: ``n (a + t) + W(n - 1)``.

    A server's Retry-After hint is left out: a long one ends the call (C17).
    """
    return attempts * (wait + attempt) + longest_waits(backoff, attempts - 1)


def longest_wait(backoff: Backoff, retries: int) -> float:
    """F1: the supremum of one wait among those before ``retries`` retries, in seconds.

    Waits grow or shrink from one to the next, so it is that before the first or before
    the last retry.
    """
    growth = 3.0 if backoff.jitter.kind == "decorrelated" else backoff.multiplier
    first = longest_waits(backoff, 1)
    if growth <= 1 or retries == 1:
        return first
    if (retries - 1) * math.log(growth) > 600:
        return math.inf if backoff.max is None else max(first, backoff.max)
    last = replace(backoff, initial=backoff.initial * growth ** (retries - 1))
    return longest_waits(last, 1)


def reachable_attempts(
    attempt: float,
    wait: float,
    backoff: Backoff,
    attempts: int,
    total: float,
    minimum: float = 0.0,
) -> Reachable:
    """F3: with every attempt as slow as allowed and every wait as long as possible.

    Attempt k starts if ``(k-1)(a+t) + W(k-1) < D`` and has its whole timeout if
    ``k(a+t) + W(k-1) <= D``. All times are seconds: ``attempt`` t, ``wait`` the local
    wait a before each attempt, ``total`` D; ``minimum`` must be left when an attempt
    after a back-off starts (C16). Both counts are found by bisection, since both sides
    grow with k.
    """

    def starts(k: int) -> bool:
        begin = (k - 1) * (wait + attempt) + longest_waits(backoff, k - 1)
        return begin < total and (k == 1 or begin + minimum <= total + _slack(total))

    def completes(k: int) -> bool:
        return run_time(attempt, wait, backoff, k) <= total + _slack(total)

    return Reachable(_last(starts, attempts), _last(completes, attempts))


def _slack(total: float) -> float:
    """Room for the rounding of sums of decimal fractions: a few parts in 10^12."""
    return 1e-12 * total


def _last(holds: Callable[[int], bool], limit: int) -> int:
    """The largest k up to ``limit`` for which a monotone condition holds, or 0."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def fast_run_time(
    attempt: float, failing: float, wait: float, backoff: Backoff, attempts: int
) -> float:
    """Seconds of a call whose attempts fail after ``failing`` seconds but for the last.

    The last attempt may be as slow as ``attempt`` allows.
    """
    if math.isinf(failing):
        return math.inf
    early = (attempts - 1) * (wait + failing)
    return early + longest_waits(backoff, attempts - 1) + wait + attempt
