"""Formulas F1 and F2, against numbers worked out by hand and brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.resolve.policy import (
    AttemptTimeout,
    Backoff,
    Budget,
    Bulkhead,
    Hedge,
    Jitter,
    RateLimit,
    Retry,
    RetryAfter,
)
from policyctl.resolve.worst_case import local_wait, longest_call, longest_waits

FULL = Jitter("full")


def backoff(
    initial: float, multiplier: float, most: float | None, jitter: Jitter = FULL
) -> Backoff:
    return Backoff(initial, multiplier, most, jitter)


def retry(
    attempts: int | None, waits: Backoff, hint: RetryAfter | None = None
) -> Retry:
    return Retry(attempts, waits, (), (), (), (), None, None, hint, None)


def limit(total: float | None) -> AttemptTimeout:
    return AttemptTimeout(total)


def whole(total: float | None) -> Budget:
    return Budget(total, True, 0.0, 0.0, None)


@pytest.mark.parametrize(
    ("waits", "retries", "seconds"),
    [
        (backoff(1, 2, 30), 2, 3.0),
        (backoff(1, 2, 8), 5, 1 + 2 + 4 + 8 + 8),
        (backoff(0.5, 1, 5), 4, 2.0),
        (backoff(3, 2, 2), 3, 6.0),
        (backoff(0, 2, 5), 9, 0.0),
        (backoff(1, 3, None), 7, (3**7 - 1) / 2),
        (backoff(1, 2, 30, Jitter("none")), 3, 7.0),
        (backoff(1, 2, 30, Jitter("equal")), 3, 7.0),
        (backoff(1, 2, 3, Jitter("ratio", 0.2)), 3, 1.2 + 2.4 + 3.0),
        (backoff(1, 2, 20, Jitter("decorrelated")), 3, 3 + 9 + 20),
        (backoff(1, 2, 5), 0, 0.0),
    ],
)
def test_longest_waits(waits: Backoff, retries: int, seconds: float) -> None:
    """F1 for every jitter: full and equal count in full, a ratio before the cap."""
    assert longest_waits(waits, retries) == pytest.approx(seconds, rel=1e-12)


@given(
    st.floats(0, 100),
    st.floats(1, 5),
    st.one_of(st.none(), st.floats(0, 100)),
    st.integers(0, 60),
    st.floats(0, 20),
)
def test_longest_waits_agree_with_brute_force(
    initial: float, multiplier: float, most: float | None, retries: int, floor: float
) -> None:
    """The early end of the sum changes nothing."""
    cap = math.inf if most is None else most
    brute = sum(max(floor, min(cap, initial * multiplier**i)) for i in range(retries))
    found = longest_waits(backoff(initial, multiplier, most), retries, floor)
    assert found == pytest.approx(brute, rel=1e-9)


def test_unlimited_and_enormous_attempts_end_at_once() -> None:
    """No count of attempts makes the sum slow or overflow."""
    assert longest_waits(backoff(1, 2, 5), None) == math.inf
    assert longest_waits(backoff(1, 2, None), 5_000) == math.inf
    assert longest_waits(backoff(0.1, 2, 5), 1_000_000) == pytest.approx(
        0.1 + 0.2 + 0.4 + 0.8 + 1.6 + 3.2 + (1_000_000 - 6) * 5
    )
    assert longest_waits(backoff(0.1, 1.0, 5), 1_000_000) == pytest.approx(100_000)


def test_longest_call_is_attempts_waits_and_slots() -> None:
    """F2: 3 x (0.05 + 2) + 0.1 + 0.2 s, cut by the budget."""
    waits = retry(3, backoff(0.1, 2, 1))
    assert longest_call(limit(2), None, waits, None, 0.05) == pytest.approx(6.45)
    assert longest_call(limit(2), whole(7), waits, None, 0.05) == pytest.approx(6.45)
    assert longest_call(limit(2), whole(5), waits, None, 0.05) == 5


def test_longest_call_without_limits_is_unbounded() -> None:
    """Without an attempt timeout only the budget bounds a call."""
    assert longest_call(None, None, None, None) == math.inf
    assert longest_call(None, whole(3), retry(3, backoff(1, 2, 5)), None) == 3
    assert longest_call(limit(None), whole(None), None, None) == math.inf
    assert longest_call(limit(2), None, retry(None, backoff(1, 2, 5)), None) == math.inf


def test_longest_call_of_one_attempt() -> None:
    """One attempt is a slot's wait and the attempt, with or without a retry block."""
    assert longest_call(limit(2), None, None, None, 0.5) == 2.5
    assert longest_call(limit(2), None, retry(1, backoff(1, 2, 5)), None, 0.5) == 2.5


@pytest.mark.parametrize("sends", ["status", "error", "predicate", "result"])
def test_a_hint_of_the_server_replaces_shorter_waits(sends: str) -> None:
    """Each wait can be the longest hint that is honoured, where an answer may carry one."""
    answers: dict[str, dict[str, Any]] = {
        "status": {"retry_on_status": ("503",)},
        "error": {"retry_on": ("timeout", "httpx:HTTPStatusError")},
        "predicate": {"retry_if": "acme.rules:transient"},
        "result": {"retry_if_result": "acme.rules:is_busy"},
    }
    hinted = replace(retry(3, backoff(1, 2, 5), RetryAfter(10.0)), **answers[sends])
    assert longest_call(limit(2), None, hinted, None) == 3 * 2 + 10 + 10
    endless = replace(hinted, retry_after=RetryAfter(None))
    assert longest_call(limit(2), whole(60), endless, None) == 60


def test_no_answer_no_hint() -> None:
    """After the three portable conditions nobody has answered: 3 x 2 + 1 + 2 = 9."""
    refused = replace(
        retry(3, backoff(1, 2, 5), RetryAfter(10.0)),
        retry_on=("not_sent", "connection_lost", "timeout"),
    )
    assert longest_call(limit(2), None, refused, None) == 9


def test_a_hedge_starts_its_attempts_beside_the_first() -> None:
    """F2 for hedges: the delays, then one attempt."""
    assert longest_call(
        limit(2), None, None, Hedge(0.2, 2, 0.02), 0.1
    ) == pytest.approx(0.1 + 2 * 0.2 + 2)


JITTERS = st.one_of(
    st.sampled_from([Jitter("none"), Jitter("full"), Jitter("equal")]),
    st.builds(Jitter, st.just("ratio"), st.floats(0, 1)),
    st.just(Jitter("decorrelated")),
)


def walk(waits: Backoff, retries: int, draws: list[float]) -> float:
    """The waits of one call whose jitter draws these numbers from 0 to 1, added up."""
    cap = math.inf if waits.max is None else waits.max
    total, last = 0.0, waits.initial
    for number in range(retries):
        draw, plain = draws[number], waits.initial * waits.multiplier**number
        if waits.jitter.kind == "decorrelated":
            last = min(cap, waits.initial + draw * (3 * last - waits.initial))
            total += last
        elif waits.jitter.kind == "ratio":
            total += min(cap, plain * (1 + waits.jitter.ratio * (2 * draw - 1)))
        else:
            least = {"none": 1.0, "equal": 0.5, "full": 0.0}[waits.jitter.kind]
            total += min(cap, plain) * (least + (1 - least) * draw)
    return total


@given(
    initial=st.floats(0.001, 10),
    multiplier=st.floats(1, 4),
    most=st.one_of(st.none(), st.floats(0.001, 100)),
    jitter=JITTERS,
    draws=st.lists(st.floats(0, 1), max_size=10),
)
def test_the_longest_waits_of_every_jitter_are_their_supremum(
    initial: float,
    multiplier: float,
    most: float | None,
    jitter: Jitter,
    draws: list[float],
) -> None:
    """No draw waits for longer, and the highest draws wait for exactly as long."""
    waits = Backoff(initial, multiplier, most, jitter)
    if most is not None and most < initial and jitter.kind == "decorrelated":
        most = None
        waits = replace(waits, max=None)
    retries = len(draws)
    longest = longest_waits(waits, retries)
    assert walk(waits, retries, draws) <= longest * (1 + 1e-9)
    assert walk(waits, retries, [1.0] * retries) == pytest.approx(longest, rel=1e-9)


@given(
    attempt=st.floats(0.01, 20),
    wait=st.floats(0, 2),
    attempts=st.integers(1, 8),
    total=st.floats(0.01, 60),
)
def test_longest_calls_by_the_schedule(
    attempt: float, wait: float, attempts: int, total: float
) -> None:
    """Attempt by attempt: the wait for a slot, the attempt, the back-off; then the end."""
    clock, delay = 0.0, 0.5
    for number in range(attempts):
        if number:
            clock += min(4.0, delay)
            delay *= 2
        clock += wait + attempt
    found = longest_call(
        limit(attempt), whole(total), retry(attempts, backoff(0.5, 2, 4)), None, wait
    )
    assert found == pytest.approx(min(total, clock), rel=1e-9)


def test_local_waits_add_up() -> None:
    """A slot, then a token, then a connection."""
    bulkhead = Bulkhead(10, 5, 0.25)
    tokens = RateLimit(100.0, 10, 0.5)
    assert local_wait(None, None) == 0.0
    assert local_wait(bulkhead, None) == 0.25
    assert local_wait(None, tokens) == 0.5
    assert local_wait(bulkhead, tokens, 1.0) == 1.75
