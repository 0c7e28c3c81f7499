"""Outcomes as bytes: results by the codec, errors by class name, arguments and state."""

from __future__ import annotations

import json

from policyctl.runtime.lazy import load, loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from policyctl.runtime.idempotency.codec import Codec

_RESULT = b"R"
_ERROR = b"E"
_UNSTORABLE = b"U"


class Unstorable(Exception):
    """The outcome is known to have happened but could not be encoded."""


def encode_result(codec: Codec, result: Any) -> bytes:
    """The payload for a result; whatever the codec raises comes out."""
    return _RESULT + codec.encode(result)


def encode_error(codec: Codec, error: Exception) -> bytes:
    """The payload for an error; whatever the codec raises comes out.

    A class that cannot be found again by its name, as one that a function defines, is
    stored as the first of its bases that can.
    """
    kind = next(filter(_is_findable, type(error).__mro__))
    name = f"{kind.__module__}:{kind.__qualname__}".encode()
    state = {k: v for k, v in vars(error).items() if k != "__notes__"}
    content = codec.encode([list(error.args), state])
    return _ERROR + len(name).to_bytes(4, "big") + name + content


def _is_findable(kind: type) -> bool:
    try:
        return loaded(f"{kind.__module__}:{kind.__qualname__}") is kind
    except Exception:
        return False


def encode_unstorable(reason: str) -> bytes:
    """The payload for a result that no codec could encode."""
    return _UNSTORABLE + json.dumps(reason).encode()


def decode(codec: Codec, payload: bytes) -> tuple[Any, Exception | None]:
    """The result, or a fresh instance of the error.

    Raises:
        Unstorable: there was a result, but it could not be encoded.
    """
    kind, rest = payload[:1], payload[1:]
    if kind == _RESULT:
        return codec.decode(rest), None
    if kind == _UNSTORABLE:
        raise Unstorable(json.loads(rest))
    length = int.from_bytes(rest[:4], "big")
    name, content = rest[4 : 4 + length].decode(), rest[4 + length :]
    cls = load(name)
    if not isinstance(cls, type) or not issubclass(cls, Exception):
        raise Unstorable(f"{name} is not an exception any more")
    args, state = codec.decode(content)
    error = cls.__new__(cls, *args)
    error.args = tuple(args)
    error.__dict__.update(state)
    return None, error
