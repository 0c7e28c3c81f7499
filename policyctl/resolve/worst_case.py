"""How long a call can last: formulas F1 and F2 of the lint reference.

All times are seconds; ``math.inf`` stands for a call that nothing bounds.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from policyctl.resolve.policy import (
    AttemptTimeout,
    Backoff,
    Budget,
    Bulkhead,
    Hedge,
    Operation,
    RateLimit,
    Retry,
)

_TERMS: Final = 100_000

# Conditions under which no answer came.
_NO_ANSWER: Final = frozenset({"not_sent", "connection_lost", "timeout"})

# Sums of waits beyond this would overflow.
_FOR_EVER: Final = 1e300


def longest_waits(backoff: Backoff, retries: int | None, floor: float = 0.0) -> float:
    """F1: the supremum of all waits before ``retries`` retries together.

    Full and equal jitter never lengthen the worst case. A ratio r multiplies each
    delay by up to 1 + r before the cap; decorrelated jitter triples the delay at
    worst. ``floor`` is the least length of each wait, for a server's hint that
    replaces a shorter one. ``retries`` None stands for no limit.
    """
    if retries is None:
        return math.inf
    first, multiplier = backoff.initial, backoff.multiplier
    if backoff.jitter.kind == "ratio":
        first *= 1 + backoff.jitter.ratio
    elif backoff.jitter.kind == "decorrelated":
        first, multiplier = first * 3, 3.0
    cap = math.inf if backoff.max is None else backoff.max
    return _sum_waits(first, multiplier, cap, retries, floor)


@lru_cache(4096)
def _sum_waits(
    first: float, multiplier: float, cap: float, count: int, floor: float
) -> float:
    """``sum of max(floor, min(cap, first x multiplier^i))`` for i from 0 to count - 1.

    The sum stops term by term once all further terms are equal; after ``_TERMS``
    terms that still shrink, the last one stands for the rest (an upper bound).
    """
    terms: list[float] = []
    delay = first
    while len(terms) < count:
        flat = multiplier == 1 or delay == 0 or len(terms) == _TERMS
        term = max(floor, min(cap, delay))
        if term > _FOR_EVER:
            return math.inf
        if flat or (delay >= cap and multiplier > 1):
            return math.fsum(terms) + (count - len(terms)) * term
        terms.append(term)
        delay *= multiplier
    return math.fsum(terms)


def local_wait(
    bulkhead: Bulkhead | None, rate_limit: RateLimit | None, acquire: float = 0.0
) -> float:
    """The longest wait in this process before each attempt.

    ``acquire`` is the caller's connection-pool acquire timeout, where it is known.
    """
    slot = 0.0 if bulkhead is None else bulkhead.max_wait
    token = 0.0 if rate_limit is None else rate_limit.max_wait
    return slot + token + acquire


def longest_hint(retry: Retry) -> float:
    """The longest Retry-After hint that may replace a wait; 0 where there is none.

    A hint comes with an answer, and the portable conditions say that none came: a retry
    for these alone never waits for a hint.
    """
    if retry.retry_after is None:
        return 0.0
    answers = (
        bool(retry.retry_on_status)
        or retry.retry_if is not None
        or retry.retry_if_result is not None
        or any(name not in _NO_ANSWER for name in retry.retry_on)
    )
    if not answers:
        return 0.0
    return math.inf if retry.retry_after.max is None else retry.retry_after.max


def longest_call(
    attempt_timeout: AttemptTimeout | None,
    budget: Budget | None,
    retry: Retry | None,
    hedge: Hedge | None,
    wait: float = 0.0,
) -> float:
    """F2: ``min(D, n (a + t) + W(n - 1))``, or ``min(D, a + h g + t)`` with a hedge.

    ``wait`` is the local wait a before each attempt. A Retry-After hint that is
    honoured counts as a wait of its ``max``, see :func:`longest_hint`.
    """
    attempt = math.inf
    if attempt_timeout is not None and attempt_timeout.total is not None:
        attempt = attempt_timeout.total
    total = math.inf
    if budget is not None and budget.total is not None:
        total = budget.total
    if hedge is not None:
        return min(total, wait + hedge.max_hedges * hedge.delay + attempt)
    if retry is None or retry.max_attempts == 1:
        return min(total, wait + attempt)
    if retry.max_attempts is None:
        return total
    hint = longest_hint(retry)
    waits = longest_waits(retry.backoff, retry.max_attempts - 1, hint)
    return min(total, retry.max_attempts * (wait + attempt) + waits)


def worst_case(
    operation: Operation, acquire: float = 0.0, fallback: float = 0.0
) -> float:
    """F2 of a resolved operation, plus ``fallback``, the time of a final fallback."""
    wait = local_wait(operation.bulkhead, operation.rate_limit, acquire)
    call = longest_call(
        operation.attempt_timeout,
        operation.budget,
        operation.retry,
        operation.hedge,
        wait,
    )
    return call + fallback
