"""Keys and fingerprints of calls."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.idempotency.keys import Key, KeyMaker
from policyctl.runtime.idempotency.trees import tree


def maker(*paths: str) -> KeyMaker:
    """A maker of keys for hotel.book."""
    return KeyMaker("hotel.book", settings.Idempotency(key=paths))


def book(hotel_id: Any, checkin: Any = None, /, *rest: Any, **more: Any) -> None:
    """A function with every kind of parameter."""


def key(found: Key | None) -> Key:
    """A key that must be there."""
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("paths", "args", "kwargs", "stored"),
    [
        (("hotel_id",), ("h1",), {}, 'hotel.book:["\\"h1\\""]'),
        (("hotel_id", "checkin"), (1, None), {}, 'hotel.book:["1", "null"]'),
        (("order.id",), (0,), {"order": {"id": 7}}, 'hotel.book:["7"]'),
        (
            ("order.customer.id",),
            (0,),
            {"order": SimpleNamespace(customer={"id": True})},
            'hotel.book:["true"]',
        ),
    ],
)
def test_keys_are_made_of_argument_paths(
    paths: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any], stored: str
) -> None:
    """Parameters, attributes and mapping keys, in the order of the setting."""
    assert key(maker(*paths).of(book, args, kwargs)).stored == stored


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("hotel", "'hotel' names nothing: no 'hotel' in parameters (hotel_id, checkin"),
        ("hotel_id.name", "'hotel_id.name' names nothing: no 'name' in a str"),
    ],
)
def test_a_path_that_names_nothing_is_an_error(path: str, message: str) -> None:
    """The error lists what there is."""
    with pytest.raises(PolicyConfigError) as caught:
        maker(path).of(book, ("h1",), {})
    assert message in str(caught.value)
    assert str(caught.value).startswith("hotel.book: idempotency.key: ")


def test_a_key_that_is_none_is_an_error() -> None:
    """A forgotten key does not make all such calls one call."""
    with pytest.raises(
        ValueError, match=r"hotel.book: the idempotency key \(checkin\)"
    ):
        maker("checkin").of(book, ("h1",), {})


def test_wrong_arguments_fail_as_the_call_would() -> None:
    """TypeError, before anything is claimed."""
    with pytest.raises(TypeError, match="missing a required argument"):
        maker("hotel_id").of(book, (), {})


def test_objects_without_identity_are_refused() -> None:
    """An object's address differs from process to process."""
    with pytest.raises(TypeError, match="cannot be made of a object; use a text"):
        maker("hotel_id").of(book, (object(),), {})


def test_long_keys_are_stored_as_digests() -> None:
    """Names of records stay short whatever the arguments are."""
    one = key(maker("hotel_id").of(book, ("x" * 10_000,), {}))
    other = key(maker("hotel_id").of(book, ("x" * 10_001,), {}))
    assert len(one.stored) < 100
    assert one.stored != other.stored


def test_methods_are_bound() -> None:
    """self is no argument, whether the method is bound or not."""

    class Client:
        def book(self, hotel_id: str) -> None: ...

    one, other = Client(), Client()
    make = maker("hotel_id")
    keys = [
        key(make.of(one.book, ("h1",), {})),
        key(make.of(other.book, ("h1",), {})),
        key(make.of(Client.book, (one, "h1"), {})),
    ]
    assert len({k.stored for k in keys}) == 1
    assert len({k.fingerprint for k in keys}) == 1


class Colour(enum.Enum):
    """An enum."""

    RED = "red"


class Level(enum.IntEnum):
    """An enum of integers."""

    LOW = 1


@dataclass
class Order:
    """A dataclass."""

    id: int
    lines: list[str]


DIFFERENT: list[Any] = [
    None,
    True,
    1,
    2,
    "1",
    b"1",
    [1],
    [1, 2],
    {1, 2},
    {"a": 1},
    {"a": "1"},
    {1: "a"},
    date(2026, 1, 2),
    "2026-01-02",
    Decimal("1"),
    UUID(int=1),
    Colour.RED,
    "red",
    Level.LOW,
    Order(1, ["a"]),
    Order(1, ["b"]),
    object(),
]


def test_unlike_arguments_have_unlike_fingerprints() -> None:
    """Types and values both count; True is not 1."""
    prints = [key(maker("rest").of(book, (0, v), {"rest": "k"})) for v in DIFFERENT]
    assert len({p.fingerprint for p in prints}) == len(DIFFERENT)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_equal_values_have_equal_trees(value: Any) -> None:
    """A copy with another order of keys is the same; nothing fails."""
    copied = value
    if isinstance(value, dict):
        copied = dict(reversed(value.items()))
    assert tree(value, strict=True) == tree(copied, strict=True)


def test_deep_and_circular_values_end() -> None:
    """A value that holds itself has a fingerprint all the same."""
    ring: list[Any] = []
    ring.append(ring)
    assert key(maker("hotel_id").of(book, ("k", ring), {})).fingerprint


def test_digests_are_the_same_in_every_process() -> None:
    """Hash randomisation does not reach forwarded keys and fingerprints."""
    code = (
        "from policyctl.runtime import settings\n"
        "from policyctl.runtime.idempotency.keys import KeyMaker\n"
        "def f(a, b): ...\n"
        "k = KeyMaker('s.o', settings.Idempotency(key=('a', 'b'))).of("
        "f, ('x', frozenset({'p', 'q', 'r'})), {})\n"
        "print(k.stored, k.forwarded, k.fingerprint)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
