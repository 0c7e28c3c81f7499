"""The budget header: what is taken, clamped, expired and ignored (C27)."""

from __future__ import annotations

import math
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policyctl.runtime.budget_header import (
    CEILING,
    format_budget_header,
    parse_budget_header,
)

Unit = Literal["s", "ms"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (None, "absent")),
        (["5"], (5.0, "taken")),
        (["0.25"], (0.25, "taken")),
        ([b"0.25"], (0.25, "taken")),
        ([" 3 "], (3.0, "taken")),
        (["12.345678901234567"], (12.345678901234567, "taken")),
        (["1e-05"], (1e-05, "taken")),
        (["2e1"], (20.0, "taken")),
        (["30"], (30.0, "taken")),
        (["30.001"], (30.0, "clamped")),
        (["1e99"], (30.0, "clamped")),
        (["9999999999999999"], (30.0, "clamped")),
        (["0"], (0.0, "expired")),
        (["-0"], (0.0, "expired")),
        (["-5"], (0.0, "expired")),
        (["-1e99"], (0.0, "expired")),
        ([""], (None, "ignored")),
        (["   "], (None, "ignored")),
        (["abc"], (None, "ignored")),
        (["nan"], (None, "ignored")),
        (["NaN"], (None, "ignored")),
        (["inf"], (None, "ignored")),
        (["-inf"], (None, "ignored")),
        (["Infinity"], (None, "ignored")),
        (["1e400"], (None, "ignored")),
        (["-1e400"], (None, "ignored")),
        (["5", "5"], (None, "ignored")),
        (["5, 5"], (None, "ignored")),
        (["1" * 40], (None, "ignored")),
        (["0." + "1" * 40], (None, "ignored")),
        (["+5"], (None, "ignored")),
        (["5s"], (None, "ignored")),
        (["1_000"], (None, "ignored")),
        ([".5"], (None, "ignored")),
        (["0x10"], (None, "ignored")),
        (["5\n"], (None, "ignored")),
        (["5\x00"], (None, "ignored")),
        (["٣"], (None, "ignored")),
        (["５"], (None, "ignored")),
        ([b"\xff\xfe"], (None, "ignored")),
        (["--5"], (None, "ignored")),
        (["1.2.3"], (None, "ignored")),
        (["5-"], (None, "ignored")),
    ],
)
def test_what_becomes_of_a_header(
    values: list[str | bytes], expected: tuple[float | None, str]
) -> None:
    """Exact outcome of each form for a ceiling of 30 s."""
    assert parse_budget_header(values, "s", 30.0) == expected


def test_milliseconds() -> None:
    """The unit divides, and the ceiling stays in seconds."""
    assert parse_budget_header(["1500"], "ms", 30.0) == (1.5, "taken")
    assert parse_budget_header(["30000"], "ms", 30.0) == (30.0, "taken")
    assert parse_budget_header(["30001"], "ms", 30.0) == (30.0, "clamped")


def test_without_a_ceiling_the_language_bounds_the_request() -> None:
    """Nobody asks for more than 30 days."""
    assert parse_budget_header(["1e9"]) == (30 * 86400.0, "clamped")


@given(
    st.lists(st.text() | st.binary(), max_size=3),
    st.sampled_from(["s", "ms"]),
    st.none() | st.floats(min_value=0.001, max_value=1e6),
)
def test_no_header_ever_fails_or_grants_too_much(
    values: list[str | bytes], unit: Unit, max: float | None
) -> None:
    """Any bytes give None, or a finite number from 0 to the ceiling."""
    seconds, outcome = parse_budget_header(values, unit, max)
    if seconds is None:
        assert outcome in ("absent", "ignored")
        assert (outcome == "absent") == (not values)
    else:
        assert 0 <= seconds <= (CEILING if max is None else max)
        assert (seconds == 0) == (outcome == "expired")


@given(st.floats(), st.sampled_from(["s", "ms"]))
def test_every_number_in_pythons_own_spelling_is_understood(
    number: float, unit: Unit
) -> None:
    """str(float) of another Python service is read as that number."""
    seconds, outcome = parse_budget_header([str(number)], unit, 30.0)
    scaled = number / 1000 if unit == "ms" else number
    if not math.isfinite(number):
        assert outcome == "ignored"
    elif number <= 0:
        assert (seconds, outcome) == (0.0, "expired")
    elif scaled > 30:
        assert (seconds, outcome) == (30.0, "clamped")
    elif scaled > 0:
        assert (seconds, outcome) == (scaled, "taken")


@pytest.mark.parametrize(
    ("seconds", "unit", "text"),
    [
        (1.5, "s", "1.500"),
        (1.5, "ms", "1500"),
        (0.0, "s", "0.000"),
        (-3.0, "s", "0.000"),
        (-3.0, "ms", "0"),
        (0.0009, "s", "0.000"),
        (12.3456, "s", "12.345"),
        (86400.0, "s", "86400.000"),
    ],
)
def test_what_is_sent(seconds: float, unit: Unit, text: str) -> None:
    """Three decimals or whole milliseconds, rounded down, never negative."""
    assert format_budget_header(seconds, unit) == text


@given(st.floats(min_value=-10, max_value=CEILING), st.sampled_from(["s", "ms"]))
@example(0.29, "s")
@example(1.001, "ms")
def test_a_receiver_never_gets_more_time_than_there_is(
    seconds: float, unit: Unit
) -> None:
    """Reading what was written loses less than 2 ms and gains nothing."""
    text = format_budget_header(seconds, unit)
    read, _ = parse_budget_header([text], unit)
    assert read is not None
    left = max(0.0, seconds)
    assert left - 0.002 < read <= left + 1e-9
