"""Typed payloads: what comes out equals what went in, and what does not fit is told."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, NewType, NotRequired, TypedDict
from uuid import UUID

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.queues import Queue
from policyctl.runtime.queues.codec import find_codec

MakeQueue = Callable[..., Queue[Any]]
Key = NewType("Key", str)


class Color(enum.Enum):
    """A value with a name."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Inner:
    """A part of another payload."""

    name: str
    price: Decimal = Decimal("0")


@dataclass
class Everything:
    """A field of every supported kind."""

    text: str
    number: int
    ratio: float
    flag: bool
    nothing: None
    maybe: int | None
    color: Color
    mode: Literal["a", 1]
    key: Key
    data: bytes
    when: datetime
    day: date
    at: time
    span: timedelta
    amount: Decimal
    id: UUID
    inner: Inner
    many: list[Inner]
    pair: tuple[int, str]
    row: tuple[int, ...]
    names: set[str]
    frozen: frozenset[int]
    table: dict[str, Inner]
    either: int | str | Inner
    anything: Any = None
    children: list[Everything] = field(default_factory=list)


class Movie(TypedDict):
    """A TypedDict with an optional key."""

    title: str
    year: int
    note: NotRequired[str]


class Model(pydantic.BaseModel):
    """A pydantic model."""

    name: str
    when: datetime
    tags: set[str] = set()


def everything(**changes: Any) -> Everything:
    """A payload with something in every field."""
    values: dict[str, Any] = {
        "text": "ü\u0000\n",
        "number": 2**70,
        "ratio": 0.1,
        "flag": True,
        "nothing": None,
        "maybe": None,
        "color": Color.BLUE,
        "mode": 1,
        "key": Key("k"),
        "data": b"\x00\xff",
        "when": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "at": time(3, 4),
        "span": timedelta(days=1, microseconds=5),
        "amount": Decimal("1.10"),
        "id": UUID(int=5),
        "inner": Inner("a", Decimal("2.5")),
        "many": [Inner("b"), Inner("c")],
        "pair": (1, "x"),
        "row": (1, 2, 3),
        "names": {"p", "q"},
        "frozen": frozenset({1, 2}),
        "table": {"k": Inner("d")},
        "either": Inner("e"),
        "anything": {"a": [1, None, "x"]},
    }
    return Everything(**values | changes)


def test_every_kind_comes_back_equal() -> None:
    """A dataclass with all supported fields, nested in itself too."""
    codec = find_codec("json", Everything)
    payload = everything(children=[everything(either=3), everything(either="three")])
    assert codec.decode(codec.encode(payload)) == payload


@settings(max_examples=50)
@given(
    st.builds(
        Inner,
        name=st.text(),
        price=st.decimals(allow_nan=False, allow_infinity=False),
    )
)
def test_any_dataclass_comes_back_equal(payload: Inner) -> None:
    """Whatever text and number it holds."""
    codec = find_codec("json", Inner)
    assert codec.decode(codec.encode(payload)) == payload


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_json_object_comes_back_equal(payload: dict[str, Any]) -> None:
    """Without a payload type an item is a JSON object."""
    codec = find_codec("json", None)
    assert codec.decode(codec.encode(payload)) == payload


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([1], "not a JSON object"),
        ({"a": (1,)}, "a tuple is not JSON"),
        ({1: "a"}, "1 is not a str"),
        ({"a": {"b": object()}}, "a object is not JSON"),
        ({"a": float("nan")}, "not JSON compliant"),
    ],
)
def test_what_json_does_not_have_is_refused(payload: Any, message: str) -> None:
    """Nothing is stored that would come back as something else."""
    with pytest.raises((TypeError, ValueError), match=message):
        find_codec("json", None).encode(payload)


HALF = "a\ud800b"


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"note": HALF}, "note: 'a\\ud800b' holds half of a surrogate pair"),
        ({"a": {"b": ["x", {"c": HALF}]}}, "a.b[1].c: "),
        ({"a": {HALF: 1}}, "a key of a: "),
        ({HALF: 1}, "a key of the payload: "),
        ({"note": "x" * 500 + HALF}, "note: 'xxxx"),
    ],
)
def test_text_without_utf8_is_named(
    make: MakeQueue, payload: dict[str, Any], place: str
) -> None:
    """Half of a surrogate pair, as surrogateescape leaves it, is told with its field."""
    queue = make()
    with pytest.raises(ValueError, match="half of a surrogate pair") as caught:
        queue.put(payload)
    assert not isinstance(caught.value, UnicodeEncodeError)
    assert str(caught.value).startswith(place)
    assert len(str(caught.value)) < 300
    str(caught.value).encode("ascii")
    assert queue.stats().put == 0


def test_ids_and_orders_without_utf8_are_refused(make: MakeQueue) -> None:
    """They go to the store as text of their own."""
    with pytest.raises(ValueError, match="an id is text that UTF-8 can carry"):
        make().put({"n": 1}, id=HALF)
    with pytest.raises(ValueError, match="note orders by text that UTF-8 can carry"):
        make(order_by="note").put({"note": HALF})


class Mute(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (ValueError(HALF), r"ValueError: a\ud800b"),
        (HALF, r"a\ud800b"),
        (Mute(), "Mute, whose text fails with RuntimeError"),
        ("ü\0x", "ü\0x"),
    ],
)
def test_any_error_is_kept_with_its_item(
    make: MakeQueue, error: Exception | str, kept: str
) -> None:
    """A handler's error comes back from the store as text, and never stops a worker."""
    queue = make(max_deliveries=1)
    queue.put({"n": 1})
    item = queue.take()
    assert item is not None
    assert item.nack(error)
    (dead,) = queue.dead_letters()
    assert dead.error == kept


def test_models_name_such_text_too(make: MakeQueue) -> None:
    """A pydantic model says which of its fields it is."""
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Note", note=(str, ...))
    queue = make(payload=model)
    with pytest.raises(ValueError, match=r"^note: 'a.*half of a surrogate pair"):
        queue.put(model.model_construct(note=HALF))
    assert queue.put(model(note="fine")).outcome == "queued"


def test_typed_dicts_are_checked() -> None:
    """Missing and unknown keys and wrong types are told by their name."""
    codec = find_codec("json", Movie)
    movie: Movie = {"title": "M", "year": 1931}
    assert codec.decode(codec.encode(movie)) == movie
    for wrong, message in (
        ({"title": "M"}, "Movie lacks 'year'"),
        ({"title": "M", "year": "1931"}, "year: '1931' is not a int"),
        ({"title": "M", "year": 1931, "x": 1}, "Movie has no 'x'"),
    ):
        with pytest.raises(TypeError, match=message):
            codec.encode(wrong)


def test_pydantic_models() -> None:
    """They are dumped and validated by themselves."""
    codec = find_codec("json", Model)
    payload = Model(name="a", when=datetime(2026, 1, 2, tzinfo=UTC), tags={"x"})
    assert codec.decode(codec.encode(payload)) == payload
    with pytest.raises(TypeError, match="is not a Model"):
        codec.encode({"name": "a"})


def test_wrong_types_name_the_field() -> None:
    """An error says where in the payload it is."""
    codec = find_codec("json", Everything)
    with pytest.raises(TypeError, match=r"many: .*is not a Inner"):
        codec.encode(everything(many=["x"]))
    with pytest.raises(TypeError, match="is not a Everything"):
        codec.encode({"text": "x"})


def test_old_and_new_programs_understand_each_other() -> None:
    """Keys that a dataclass does not know are ignored, missing ones take the default."""
    codec = find_codec("json", Inner)
    assert codec.decode(b'{"name": "a", "new": 1}') == Inner("a")


class Reversed:
    """A codec of one's own."""

    def encode(self, value: str) -> bytes:
        """The text backwards."""
        return value.encode()[::-1]

    def decode(self, data: bytes) -> str:
        """And forwards again."""
        return data[::-1].decode()


def test_a_codec_of_ones_own(make: MakeQueue) -> None:
    """Payloads are what it takes and gives, on every back end."""
    queue = make(codec=Reversed)
    queue.put("hello")
    assert queue.store.peek(1)[0].body == b"olleh"
    item = queue.take()
    assert item is not None
    assert item.payload == "hello"


@pytest.mark.parametrize(
    ("codec", "payload", "message"),
    [
        ("nowhere:Codec", None, "cannot be imported"),
        (object(), None, "has no method encode"),
        ("json", "nowhere:Job", "cannot be imported"),
        ("json", complex, "cannot be stored"),
    ],
)
def test_what_cannot_be_a_payload(codec: Any, payload: Any, message: str) -> None:
    """It is said when the queue is first used, with the remedy."""
    with pytest.raises(PolicyConfigError, match=message):
        find_codec(codec, payload)


def test_what_cannot_be_decoded_is_not_delivered(make: MakeQueue) -> None:
    """It becomes a dead letter with the error, and the next item comes."""
    queue = make(payload=Inner)
    queue.put(Inner("a"))
    queue.put(Inner("b"))
    entry = queue._entries([Inner("c")], None)[0]
    broken = type(entry)(entry.id, b'{"price": "1"}')
    change = queue._change()
    queue.store.put([broken], change)
    items = queue.take_many(10)
    assert [item.payload for item in items] == [Inner("a"), Inner("b")]
    (dead,) = queue.dead_letters()
    assert (dead.payload, dead.reason) == (None, "undecodable")
    assert dead.error is not None
    assert "name" in dead.error
    assert dead.body == b'{"price": "1"}'


def test_nothing_is_put_when_one_payload_is_wrong(make: MakeQueue) -> None:
    """The batch is encoded before the first item is put."""
    queue = make(payload=Inner)
    with pytest.raises(TypeError):
        queue.put_many([Inner("a"), "b"])
    assert queue.stats().size == 0
