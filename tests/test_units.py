"""Durations, rates, ratios, sizes and windows: grammar, exactness and inverses."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.units import (
    MAX_DURATION,
    UnitError,
    check_ratio,
    format_duration,
    format_rate,
    format_ratio,
    format_size,
    format_window,
    parse_duration,
    parse_rate,
    parse_ratio,
    parse_size,
    parse_window,
    quote,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("100ms", 0.1),
        ("1.5s", 1.5),
        ("1m30s", 90.0),
        ("24h", 86400.0),
        ("7d", 604800.0),
        ("30d", 2592000.0),
        ("0s", 0.0),
        ("0.1us", 1e-07),
        ("1us", 1e-06),
        ("1d1h1m1s1ms1us", 90061.001001),
        ("90m", 5400.0),
        ("1h90m", 9000.0),
        ("007s", 7.0),
        ("0.1s", 0.1),
        ("1m0.5s", 60.5),
    ],
)
def test_a_duration_is_its_seconds(text: str, seconds: float) -> None:
    """Each form of the language reference gives the exact number of seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("30", "`30` has no unit", "write 30s or 30ms"),
        ("1.5", "`1.5` has no unit", "write 1.5s or 1.5ms"),
        ("5 s", "`5 s` has a space in it", "write 5s"),
        (" 5s ", "` 5s ` has a space in it", "write 5s"),
        ("1M", "`1M` has a unit in capitals", "write 1m"),
        ("5S", "`5S` has a unit in capitals", "write 5s"),
        ("1:30", "`1:30` is a clock time, not a duration", "write for example 1m30s"),
        (
            "-1s",
            "`-1s` has a sign",
            "a duration is never negative; write for example 30s",
        ),
        (
            "+1s",
            "`+1s` has a sign",
            "a duration is never negative; write for example 30s",
        ),
        (
            "1e3s",
            "`1e3s` has an exponent",
            "write the number out, for example 1000s",
        ),
        (
            "1s1m",
            "`1s1m` has its units out of order",
            "write each unit once, from d to us, for example 1m30s",
        ),
        (
            "1s1s",
            "`1s1s` has its units out of order",
            "write each unit once, from d to us, for example 1m30s",
        ),
        (
            "1.5m30s",
            "`1.5m30s` has a fraction before its last part",
            "write the fraction in the last part alone, for example 1m1.5s",
        ),
        ("31d", "`31d` is over 30d", "write at most 30d"),
    ],
)
def test_a_wrong_duration_is_told_its_right_form(
    text: str, message: str, hint: str
) -> None:
    """The error names the value and what to write instead."""
    with pytest.raises(UnitError) as caught:
        parse_duration(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert str(caught.value) == f"{message}; {hint}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        ".5s",
        "5.s",
        "٣s",
        "５s",
        "5sec",
        "1_000s",
        "5s\n",
        "nan",
        "inf",
        "nans",
        "PT5S",
        "0x10s",
        "1,5s",
        "5μs",
        "1m 30s",
        "--1s",
        "1w",
        "1y",
        "1" * 60 + "s",
    ],
)
def test_other_texts_are_no_durations(text: str) -> None:
    """What the grammar does not have is refused, digits of other scripts included."""
    with pytest.raises(UnitError):
        parse_duration(text)


def test_a_key_may_allow_more_than_thirty_days() -> None:
    """The bound is the caller's: None lifts it, another number moves it."""
    assert parse_duration("365d", maximum=None) == 31536000.0
    assert parse_duration("60d", maximum=366 * 86400) == 5184000.0
    with pytest.raises(UnitError, match="`2s` is over 1s"):
        parse_duration("2s", maximum=1.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.1, "100ms"),
        (0.25, "250ms"),
        (1.5, "1.5s"),
        (90.0, "1m30s"),
        (90.5, "1m30.5s"),
        (3600.0, "1h"),
        (86400.0, "1d"),
        (0.0015, "1.5ms"),
        (1e-06, "1us"),
        (1e-07, "0.1us"),
        (0.3, "300ms"),
    ],
)
def test_seconds_are_written_as_people_write_them(seconds: float, text: str) -> None:
    """The largest units come first and no digit is idle."""
    assert format_duration(seconds) == text


@given(st.floats(min_value=0, max_value=MAX_DURATION))
def test_every_number_of_seconds_survives_its_text(seconds: float) -> None:
    """parse(format(x)) is x, bit for bit, for all floats of the range."""
    text = format_duration(seconds)
    if len(text) <= 40:
        assert parse_duration(text) == seconds


@given(
    st.integers(0, 29),
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
    st.integers(0, 999),
)
def test_parts_add_up_exactly(d: int, h: int, m: int, s: int, ms: int) -> None:
    """The sum of all parts is the float nearest to the exact sum."""
    exact = Fraction(d * 86400 + h * 3600 + m * 60 + s) + Fraction(ms, 1000)
    assert parse_duration(f"{d}d{h}h{m}m{s}s{ms}ms") == float(exact)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_fraction_is_rounded_once(whole: int, micros: int) -> None:
    """Decimal seconds are the float nearest to the decimal."""
    text = f"{whole}.{micros:06}"
    assert parse_duration(f"{text}s") == float(text)


@pytest.mark.parametrize("number", [-1.0, float("nan"), float("inf")])
def test_what_is_no_time_has_no_text(number: float) -> None:
    """Negative, infinite and undefined numbers cannot be formatted."""
    for form in (format_duration, format_rate, format_ratio):
        with pytest.raises(UnitError, match="negative or not finite"):
            form(number)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("40/s", 40.0),
        ("600/m", 10.0),
        ("6/m", 0.1),
        ("10/h", 10 / 3600),
        ("0.5/s", 0.5),
    ],
)
def test_a_rate_is_per_second(text: str, rate: float) -> None:
    """Rates of all three units become events per second."""
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("40", "`40` is a rate without a time", "write 40/s, /m or /h"),
        ("40/x", "`40/x` is not a rate", "write for example 40/s, 600/m or 10/h"),
        ("-1/s", "`-1/s` is not a rate", "write for example 40/s, 600/m or 10/h"),
        ("1e3/s", "`1e3/s` is not a rate", "write for example 40/s, 600/m or 10/h"),
        (
            "2000000000/s",
            "`2000000000/s` is over a billion per second",
            "write at most 1000000000/s",
        ),
    ],
)
def test_a_wrong_rate_is_told_its_right_form(
    text: str, message: str, hint: str
) -> None:
    """The error names the value and what to write instead."""
    with pytest.raises(UnitError) as caught:
        parse_rate(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("rate", "text"),
    [(40.0, "40/s"), (0.1, "6/m"), (10 / 3600, "10/h"), (0.5, "30/m"), (0.0, "0/s")],
)
def test_rates_are_written_in_whole_numbers(rate: float, text: str) -> None:
    """The unit that gives a whole number is taken."""
    assert format_rate(rate) == text


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_every_rate_survives_its_text(rate: float) -> None:
    """parse(format(x)) is x, bit for bit."""
    assert parse_rate(format_rate(rate)) == rate


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("50%", 0.5),
        ("0.1%", 0.001),
        ("100%", 1.0),
        ("0.5", 0.5),
        ("0%", 0.0),
        ("1", 1.0),
    ],
)
def test_a_ratio_is_a_share(text: str, ratio: float) -> None:
    """Percentages and plain shares give the same numbers."""
    assert parse_ratio(text) == ratio


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("50", "`50` is over 1", "write 50% or a share from 0 to 1"),
        ("1.5", "`1.5` is over 1", "write 1.5% or a share from 0 to 1"),
        ("150%", "`150%` is over 100%", "write at most 100%"),
        ("-5%", "`-5%` is not a ratio", "write for example 50% or 0.5"),
        ("5 %", "`5 %` is not a ratio", "write for example 50% or 0.5"),
    ],
)
def test_a_wrong_ratio_is_told_its_right_form(
    text: str, message: str, hint: str
) -> None:
    """The error names the value and what to write instead."""
    with pytest.raises(UnitError) as caught:
        parse_ratio(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@given(st.floats(min_value=0, max_value=1))
def test_every_ratio_survives_its_text(ratio: float) -> None:
    """parse(format(x)) is x, bit for bit, where the text is of usual length."""
    text = format_ratio(ratio)
    if len(text) <= 40:
        assert parse_ratio(text) == ratio


@pytest.mark.parametrize("number", [float("nan"), -0.5, float("-inf")])
def test_a_number_below_zero_is_no_ratio(number: float) -> None:
    """Negative numbers and NaN are refused as ratios."""
    with pytest.raises(UnitError, match="is not a ratio"):
        check_ratio(number)


@pytest.mark.parametrize("number", [1.0000001, 50, 1e30, float("inf"), 10**30])
def test_a_number_over_one_is_no_ratio(number: float) -> None:
    """Numbers over 1 are refused as ratios, huge ones without their digits."""
    with pytest.raises(UnitError, match="is over 1") as caught:
        check_ratio(number)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512KiB", 524288),
        ("10MiB", 10485760),
        ("1GiB", 1073741824),
        ("1.5KiB", 1536),
        ("0B", 0),
        ("1024TiB", 1 << 50),
    ],
)
def test_a_size_is_its_bytes(text: str, size: int) -> None:
    """Units are powers of 1024."""
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("512", "`512` has no unit", "write 512B, 512KiB or 512MiB"),
        ("10MB", "`10MB` is not a size", "units are powers of 1024; write 10MiB"),
        ("10k", "`10k` is not a size", "units are powers of 1024; write 10KiB"),
        ("10 MiB", "`10 MiB` is not a size", "units are powers of 1024; write 10MiB"),
        ("big", "`big` is not a size", "write for example 512KiB, 10MiB or 1GiB"),
        ("1.5B", "`1.5B` is not a whole number of bytes", "write for example 512KiB"),
        ("1025TiB", "`1025TiB` is over 1024TiB", "write at most 1024TiB"),
    ],
)
def test_a_wrong_size_is_told_its_right_form(
    text: str, message: str, hint: str
) -> None:
    """The error names the value and what to write instead."""
    with pytest.raises(UnitError) as caught:
        parse_size(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@given(st.integers(0, 1 << 50))
def test_every_size_survives_its_text(size: int) -> None:
    """parse(format(x)) is x for every number of bytes."""
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("100 calls", {"calls": 100}),
        ("1 call", {"calls": 1}),
        ("30s", {"seconds": 30.0}),
    ],
)
def test_a_window_is_calls_or_seconds(text: str, window: dict[str, float]) -> None:
    """Both kinds of window are told apart and can be written back."""
    assert parse_window(text) == window
    assert parse_window(format_window(window)) == window


@pytest.mark.parametrize("text", ["30", "100calls", "1.5 calls", "-1 calls", "calls"])
def test_other_texts_are_no_windows(text: str) -> None:
    """A window without a unit, or with another form, is refused."""
    with pytest.raises(UnitError):
        parse_window(text)


def test_shown_values_are_short_and_printable() -> None:
    """Hostile values cannot fill a terminal or steer it, and passwords are not shown."""
    assert quote("a" * 100) == "`" + "a" * 39 + "…`"
    assert quote("\x1b[31mred\n") == "`\ufffd[31mred\ufffd`"
    assert quote("redis://user:secret@host") == "`redis://…@host`"


def test_an_error_survives_copy_and_pickle() -> None:
    """Copies keep message and hint."""
    error = UnitError("`x` is wrong", "write y")
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (other.message, other.hint) == ("`x` is wrong", "write y")
