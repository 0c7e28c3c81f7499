"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.lint import show
from policyctl.units import parse_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (54.0, "54s"),
        (0.1 + 0.2, "300ms"),
        (9.600000000000001, "9.6s"),
        (90.0, "1m30s"),
        (0.0123456, "12.35ms"),
        (0.0, "0s"),
        (math.inf, "no limit"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Rounding errors of sums do not show."""
    assert show.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "down", "up"),
    [
        (4.0, "4s", "4s"),
        (1.94, "1.9s", "2s"),
        (0.0433, "43ms", "44ms"),
        (7.05, "7s", "7.1s"),
        (64.0, "1m", "1m10s"),
        (86400.0, "1d", "1d"),
        (641.0, "10m", "11m"),
        (36001.0, "10h", "10h10m"),
    ],
)
def test_round_durations(seconds: float, down: str, up: str) -> None:
    """Advice is rounded to the safe side, to numbers that people would write."""
    assert (show.floor_duration(seconds), show.ceil_duration(seconds)) == (down, up)


@given(st.floats(1e-5, 2e6))
def test_rounding_is_safe(seconds: float) -> None:
    """Down is never above, up never below, and both are within a fifth."""
    down = parse_duration(show.floor_duration(seconds))
    up = parse_duration(show.ceil_duration(seconds))
    assert down <= seconds * (1 + 1e-6)
    assert up >= seconds * (1 - 1e-6)
    assert up - down <= 0.2 * seconds + 1e-9


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4"),
        (2.5, "2.5"),
        (2 / 3, "0.6667"),
        (1.3888e-06, "0.000001389"),
        (1e30, "1e+30"),
        (math.inf, "infinite"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    """Four digits at most, and huge ones short."""
    assert show.number(value) == text


def test_rates_ratios_and_words() -> None:
    """Other forms in messages."""
    assert show.rate(133.33333) == "133.3/s"
    assert show.rate(0.1) == "6/m"
    assert [show.rate(rate) for rate in (1 / 60, 7 / 3600, 1 / 7)] == [
        "1/m",
        "7/h",
        "0.1429/s",
    ]
    assert show.rate(1e44) == show.rate(math.inf) == "over 10^9/s"
    assert show.ratio(1 / 3) == "33.33%"
    assert show.count(1, "attempt") == "1 attempt"
    assert show.count(3, "attempt") == "3 attempts"
    assert [show.words(list("abc"[:n])) for n in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (125.0, "125/s"),
        (1000 / 3, "334/s"),
        (4 / 3, "80/m"),
        (1 / 1200, "3/h"),
        (0.5, "30/m"),
        (2e9, "over 10^9/s"),
    ],
)
def test_rates_rounded_up(value: float, text: str) -> None:
    """A rate that is not short is rounded up: 334/s for 333.33…/s."""
    assert show.ceil_rate(value) == text
