"""Values to bytes and back. JSON with tags, so that what comes back equals what went in.

A codec of one's own is any object (or a class that is made without arguments) with
``encode(value) -> bytes`` and ``decode(bytes) -> value``.
"""

from __future__ import annotations

import json

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.lazy import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Codec(Protocol):
        """What turns results into bytes and back."""

        def encode(self, value: Any, /) -> bytes:
            """The value as bytes; raises TypeError or ValueError where it cannot."""
            ...

        def decode(self, data: bytes, /) -> Any:
            """The value that was encoded."""
            ...


TAG = "$policyctl"


class JsonCodec:
    """JSON, and tagged: tuples, sets, bytes, dates, times, Decimal, UUID, odd keys.

    What is encoded comes back equal and of the same type. Other types, and subclasses
    of these, are refused with TypeError, NaN and infinity with ValueError.
    """

    def encode(self, value: Any) -> bytes:
        """The value as compact UTF-8 JSON."""
        packed = _pack(value)
        text = json.dumps(
            packed, ensure_ascii=False, allow_nan=False, separators=_TIGHT
        )
        return text.encode("utf-8")

    def decode(self, data: bytes) -> Any:
        """The value that ``encode`` was given."""
        return _unpack(json.loads(data))


_TIGHT = (",", ":")
_PLAIN = frozenset({type(None), bool, int, float, str})


def _pack(value: Any) -> Any:
    kind: type[Any] = _kind(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_pack(item) for item in value]
    if kind is dict:
        if TAG not in value and all(_kind(key) is str for key in value):
            return {key: _pack(item) for key, item in value.items()}
        return {TAG: "dict", "v": [[_pack(k), _pack(v)] for k, v in value.items()]}
    packer = _packers().get(kind)
    if packer is None:
        raise TypeError(
            f"a value of type {kind.__module__}.{kind.__qualname__} cannot be stored "
            "as JSON"
        )
    return {TAG: kind.__name__, "v": packer(value)}


def _unpack(value: Any) -> Any:
    kind = _kind(value)
    if kind is list:
        return [_unpack(item) for item in value]
    if kind is not dict:
        return value
    if TAG not in value:
        return {key: _unpack(item) for key, item in value.items()}
    if value[TAG] == "dict":
        return {_unpack(key): _unpack(item) for key, item in value["v"]}
    return _unpackers()[value[TAG]](value["v"])


def _kind(value: object) -> type[Any]:
    return type(value)


def _packers() -> dict[type, Callable[[Any], Any]]:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from uuid import UUID

    def items(value: Any) -> list[Any]:
        return [_pack(item) for item in value]

    return {
        tuple: items,
        set: items,
        frozenset: items,
        bytes: bytes.hex,
        datetime: datetime.isoformat,
        date: date.isoformat,
        time: time.isoformat,
        timedelta: lambda value: [value.days, value.seconds, value.microseconds],
        Decimal: str,
        UUID: str,
    }


def _unpackers() -> dict[str, Callable[[Any], Any]]:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from uuid import UUID

    return {
        "tuple": lambda value: tuple(_unpack(value)),
        "set": lambda value: set(_unpack(value)),
        "frozenset": lambda value: frozenset(_unpack(value)),
        "bytes": bytes.fromhex,
        "datetime": datetime.fromisoformat,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "timedelta": lambda value: timedelta(*value),
        "Decimal": Decimal,
        "UUID": UUID,
    }


def find_codec(name: str) -> Codec:
    """The codec that a policy names: ``json`` or ``package.module:Codec``.

    Raises:
        PolicyConfigError: there is no such codec, or it lacks a method.
    """
    if name == "json":
        return JsonCodec()
    path = "idempotency.codec"
    found = load(name, path)
    codec: Any = found() if isinstance(found, type) else found
    for method in ("encode", "decode"):
        if not callable(getattr(codec, method, None)):
            raise PolicyConfigError(
                f"{name!r} has no method {method}",
                path=path,
                help="a codec has encode(value) -> bytes and decode(bytes) -> value",
            )
    checked: Codec = codec
    return checked
