"""The core schema, and numbers that YAML versions read differently."""

from __future__ import annotations

import math

import pytest

from policyctl.source import scalars
from policyctl.source.scalars import is_ambiguous, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("true", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("-7", -7),
        ("0x1F", 31),
        ("0x", "0x"),
        ("-0x1", "-0x1"),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5e-1", -0.05),
        ("1e3", 1000.0),
        ("00.5", 0.5),
        (".inf", math.inf),
        ("+.Inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", "inf"),
        ("nan", "nan"),
        (".", "."),
        ("-", "-"),
        ("1e", "1e"),
        ("٣", "٣"),
        ("1 ", "1 "),
        ("1\n", "1\n"),
    ],
)
def test_plain_scalars(text: str, value: object) -> None:
    """Exactly the forms of YAML 1.2 are null, booleans and numbers."""
    found = resolve(text)
    assert (found, type(found)) == (value, type(value))


def test_not_a_number_is_a_float() -> None:
    """``.nan`` is read; validation refuses it."""
    value = resolve(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    "text",
    [
        "010",
        "-010",
        "00",
        "0o10",
        "1_000",
        "1:30",
        "22:22",
        "2024-01-01",
        "0b11",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "N",
    ],
)
def test_what_versions_disagree_on_stays_text(text: str) -> None:
    """No such scalar becomes a number or boolean, and a writer knows to quote it."""
    assert resolve(text) == text
    assert is_ambiguous(text)


@pytest.mark.parametrize("text", ["30s", "50%", "40/s", "charge", "1.5s", "100 calls"])
def test_ordinary_settings_are_not_ambiguous(text: str) -> None:
    """Durations, ratios, rates and names are written without quotes."""
    assert not is_ambiguous(text)


def test_the_cache_keeps_types_apart() -> None:
    """Equal texts give equal values however often and in whatever order asked."""
    first = [resolve(text) for text in ("1", "1.0", "true", "1")]
    assert [type(value) for value in first] == [int, float, bool, int]


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many different texts do not pile up, and constants stay known."""
    monkeypatch.setattr(scalars, "_CACHE_LIMIT", 50)
    for number in range(500):
        assert resolve(f"text {number}") == f"text {number}"
    assert len(scalars._cache) <= 51
    assert [resolve(text) for text in ("", "true", "~")] == [None, True, None]


def test_the_longest_number() -> None:
    """A number of a hundred characters is read, a longer one refused."""
    assert resolve("9" * 100) == 10**100 - 1
    with pytest.raises(ValueError, match="a number of 101 characters"):
        resolve("9" * 101)
