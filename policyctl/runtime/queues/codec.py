"""Payloads to bytes and back.

By default a payload is a JSON object. ``payload`` names a dataclass, a TypedDict or a
pydantic model; ``codec`` an object of one's own with ``encode(value) -> bytes`` and
``decode(bytes) -> value``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.lazy import load
from policyctl.runtime.queues.shapes import Shape, check_json, shape_of


class Codec(Protocol):
    """What turns payloads into bytes and back."""

    def encode(self, value: Any, /) -> bytes:
        """The payload as bytes; raises TypeError or ValueError where it cannot."""
        ...

    def decode(self, data: bytes, /) -> Any:
        """The payload that was encoded."""
        ...


_write = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


class JsonCodec:
    """JSON by a shape; refuses NaN and infinity, which JSON does not have."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def encode(self, value: Any) -> bytes:
        """The payload as compact UTF-8 JSON."""
        data = self._shape.pack(value)
        try:
            return _write(data).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(_half_pair(data, error)) from None

    def decode(self, data: bytes) -> Any:
        """The payload from its JSON."""
        return self._shape.unpack(json.loads(data))


class ModelCodec:
    """A pydantic model by its own JSON."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, value: Any) -> bytes:
        """The payload as JSON."""
        if not isinstance(value, self._model):
            raise TypeError(f"{value!r} is not a {self._model.__name__}")
        dumped: Any = value
        try:
            text: str = dumped.model_dump_json()
            return text.encode("utf-8")
        except ValueError as error:
            data = dumped.model_dump()
            if _text_without_utf8(data) is None:
                raise
            raise ValueError(_half_pair(data, error)) from None

    def decode(self, data: bytes) -> Any:
        """The payload, validated."""
        return self._model.model_validate_json(data)


def _half_pair(data: Any, error: ValueError) -> str:
    """What is wrong with a text that has no UTF-8, and where it stands."""
    place = _text_without_utf8(data)
    if place is None:
        return str(error)
    path, text = place
    return (
        f"{path or 'the payload'}: {shown(text)} holds half of a surrogate pair, which "
        "is no character; decode the text without surrogateescape, or put bytes"
    )


def _text_without_utf8(data: Any, path: str = "") -> tuple[str, str] | None:
    """The path and the value of the first text that UTF-8 cannot carry."""
    if isinstance(data, str):
        return (path, data) if _SURROGATE.search(data) else None
    members: Iterable[tuple[str, Any]] = ()
    if isinstance(data, Mapping):
        mapping = cast("Mapping[object, Any]", data)
        items = mapping.items()
        for key in mapping:
            if _text_without_utf8(key) is not None:
                return f"a key of {path or 'the payload'}", str(key)
        members = ((f"{path}.{key}" if path else str(key), each) for key, each in items)
    elif isinstance(data, list | tuple):
        numbered = enumerate(cast("Sequence[Any]", data))
        members = ((f"{path}[{number}]", each) for number, each in numbered)
    for name, each in members:
        found = _text_without_utf8(each, name)
        if found is not None:
            return found
    return None


def shown(text: str) -> str:
    """A text as a message shows it: ASCII, and not too much."""
    return ascii(text if len(text) <= _WIDEST else text[:_WIDEST] + "...")


_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDEST = 60


def _object(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a JSON object")
    return check_json({**value})


OBJECTS = JsonCodec(Shape(_object, _object))
"""JSON objects: what a queue without ``payload`` holds."""


def find_codec(codec: Any, payload: Any) -> Codec:
    """The codec of a queue.

    Args:
        codec: ``json``, ``package.module:Codec``, or an object of that kind.
        payload: a class, its name ``package.module:Class``, or None.

    Raises:
        PolicyConfigError: one of them does not exist or does not fit.
    """
    if codec != "json":
        return _own_codec(codec)
    if payload is None:
        return OBJECTS
    kind: Any = load(payload, "payload") if isinstance(payload, str) else payload
    if hasattr(kind, "model_validate_json"):
        return ModelCodec(kind)
    try:
        return JsonCodec(shape_of(kind))
    except (TypeError, NameError) as error:
        raise PolicyConfigError(
            f"{payload!r} cannot be stored: {error}",
            path="payload",
            help="use a dataclass, a TypedDict or a pydantic model, or a codec of yours",
        ) from error


def _own_codec(codec: Any) -> Codec:
    found = load(codec, "codec") if isinstance(codec, str) else codec
    made: Any = found() if isinstance(found, type) else found
    for method in ("encode", "decode"):
        if not callable(getattr(made, method, None)):
            raise PolicyConfigError(
                f"{codec!r} has no method {method}",
                path="codec",
                help="a codec has encode(value) -> bytes and decode(bytes) -> value",
            )
    checked: Codec = made
    return checked
