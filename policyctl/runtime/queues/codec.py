"""Payloads to bytes and back.

By default a payload is a JSON object. ``payload`` names a dataclass, a TypedDict or a
pydantic model; ``codec`` an object of one's own with ``encode(value) -> bytes`` and
``decode(bytes) -> value``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

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
        return _write(data).encode("utf-8")

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
        text: str = dumped.model_dump_json()
        return text.encode("utf-8")

    def decode(self, data: bytes) -> Any:
        """The payload, validated."""
        return self._model.model_validate_json(data)


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
