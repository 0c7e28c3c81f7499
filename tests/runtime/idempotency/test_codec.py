"""Codecs: what goes in comes out equal and of the same type, or is refused."""

from __future__ import annotations

import enum
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.idempotency.codec import TAG, JsonCodec, find_codec
from policyctl.runtime.idempotency.outcome import (
    Unstorable,
    decode,
    encode_error,
    encode_result,
    encode_unstorable,
)

CODEC = JsonCodec()
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
    | st.binary()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(UTC))
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
keys = st.text(st.characters(codec="utf-8"), max_size=4) | st.integers() | st.just(TAG)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3)
    | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


def typed(value: Any) -> Any:
    """A value with the types of all its parts."""
    if isinstance(value, dict):
        return dict, [(typed(k), typed(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [typed(item) for item in value]
    return type(value), value


@given(trees)
def test_json_gives_back_what_it_was_given(value: Any) -> None:
    """Equal, of the same types at every depth, and in the same order."""
    assert typed(CODEC.decode(CODEC.encode(value))) == typed(value)


@pytest.mark.parametrize("value", [{1, 2}, frozenset({"a"}), set()])
def test_sets_come_back(value: Any) -> None:
    """Sets of either kind."""
    assert typed(CODEC.decode(CODEC.encode(value))) == typed(value)


class Number(int):
    """A subclass that JSON would silently flatten."""


class Mood(enum.Enum):
    """An enum."""

    GOOD = 1


@pytest.mark.parametrize(
    "value",
    [
        object(),
        Number(1),
        Mood.GOOD,
        OrderedDict(a=1),
        1j,
        [object()],
        {"a": object()},
        float("nan"),
        [float("inf")],
        "\ud800",
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_come_back_changed_is_refused(value: Any) -> None:
    """Better no replay than one that differs."""
    with pytest.raises((TypeError, ValueError)):
        CODEC.encode(value)


def test_the_format_stays() -> None:
    """Records outlive a release on disk, so the bytes are pinned."""
    value = {
        "a": (1, None),
        "b": b"\x01",
        "c": [date(2026, 1, 2), time(3, 4), timedelta(seconds=5)],
        "d": Decimal("1.50"),
        "e": UUID(int=7),
        "f": datetime(2026, 1, 2, tzinfo=UTC),
    }
    assert CODEC.encode(value).decode() == (
        '{"a":{"$policyctl":"tuple","v":[1,null]},'
        '"b":{"$policyctl":"bytes","v":"01"},'
        '"c":[{"$policyctl":"date","v":"2026-01-02"},'
        '{"$policyctl":"time","v":"03:04:00"},'
        '{"$policyctl":"timedelta","v":[0,5,0]}],'
        '"d":{"$policyctl":"Decimal","v":"1.50"},'
        '"e":{"$policyctl":"UUID","v":"00000000-0000-0000-0000-000000000007"},'
        '"f":{"$policyctl":"datetime","v":"2026-01-02T00:00:00+00:00"}}'
    )


class Upper:
    """A codec of one's own."""

    def encode(self, value: str) -> bytes:
        """Upper case."""
        return value.upper().encode()

    def decode(self, data: bytes) -> str:
        """As it is."""
        return data.decode()


def test_codecs_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class is made, an object taken as it is, anything else refused."""
    monkeypatch.setattr(enum, "Upper", Upper, raising=False)
    monkeypatch.setattr(enum, "upper", Upper(), raising=False)
    for name in ("enum:Upper", "enum:upper"):
        codec = find_codec(name)
        assert codec.decode(codec.encode("a")) == "A"
    assert isinstance(find_codec("json"), JsonCodec)
    with pytest.raises(PolicyConfigError, match="'enum:auto' has no method encode"):
        find_codec("enum:auto")
    with pytest.raises(PolicyConfigError, match="cannot be imported"):
        find_codec("no_such_app:Codec")


class Refused(Exception):
    """An error with a constructor that needs more than its args."""

    def __init__(self, code: int, *, why: str) -> None:
        super().__init__(code)
        self.why = why


def test_outcomes_come_back() -> None:
    """Results, errors with arguments and attributes, and lost results."""
    assert decode(CODEC, encode_result(CODEC, (1, 2))) == ((1, 2), None)
    original = Refused(5, why="late")
    original.add_note("policyctl: 3 attempts")
    result, error = decode(CODEC, encode_error(CODEC, original))
    assert result is None
    assert isinstance(error, Refused)
    assert (error.args, error.why) == ((5,), "late")
    assert not hasattr(error, "__notes__")
    with pytest.raises(Unstorable, match="too big"):
        decode(CODEC, encode_unstorable("too big"))


def test_a_class_that_is_no_exception_is_never_made() -> None:
    """A record that names something else is not a way to call it."""
    name = b"os:getcwd"
    payload = b"E" + len(name).to_bytes(4, "big") + name + CODEC.encode([[], {}])
    with pytest.raises(Unstorable, match="not an exception any more"):
        decode(CODEC, payload)
