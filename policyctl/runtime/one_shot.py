"""Arguments that can be read only once: generators and coroutines.

An attempt that fails halfway through one leaves the next attempt the rest, or nothing: a
request with half its body, which may well succeed.
"""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, GeneratorType

from policyctl.runtime.signatures import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS: dict[type[Any], str] = {
    GeneratorType: "gi",
    AsyncGeneratorType: "ag",
    CoroutineType: "cr",
}


def has_one(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument can be read only once."""
    return any(type(value) in _KINDS for value in (*args, *kwargs.values()))


def begun(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether such an argument has been read from, so that it cannot be read again."""
    for value in args:
        if type(value) in _KINDS and _is_begun(value):
            return True
    return bool(kwargs) and begun(tuple(kwargs.values()), {})


def _is_begun(value: Any) -> bool:
    prefix = _KINDS.get(kind_of(value))
    if prefix is None:
        return False
    frame = getattr(value, f"{prefix}_frame")
    if frame is None or getattr(value, f"{prefix}_running"):
        return True
    suspended = getattr(value, f"{prefix}_suspended", None)
    if suspended is not None:
        return bool(suspended)
    # Async generators before Python 3.12: where one has not begun, its frame stands at
    # the very first instruction that creates it.
    return bool(frame.f_lasti > _first_stop(value))


def _first_stop(generator: Any) -> int:
    """Where the frame of an async generator stands that has not begun."""
    from dis import opmap

    code: bytes = generator.ag_code.co_code
    return code[::2].find(opmap["RETURN_GENERATOR"]) * 2
