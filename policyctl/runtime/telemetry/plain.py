"""Values as JSON can hold them, whatever they are and whatever their methods do."""

from __future__ import annotations

from math import isfinite
from typing import Any

MOST = 500
"""Characters that are kept of a text, and entries of a collection."""
_DEEPEST = 4
_LONGEST_INT = 1024
"""Bits of an integer that stays a number; Python refuses to print much longer ones."""


def text(value: object) -> str:
    """One line of at most ``MOST`` characters; never raises."""
    try:
        found = str.__str__(str(value))
    except Exception:
        found = f"<{type(value).__name__} without a text>"
    if len(found) > MOST:
        found = found[: MOST - 1] + "…"
    if found.isprintable():
        return found
    return "".join(c if c.isprintable() else _escaped(c) for c in found)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def plain(value: object, depth: int = 0) -> Any:
    """``value`` of numbers, texts, lists and dictionaries; never raises."""
    if value is None or type(value) is bool:
        return value
    if type(value) is int:
        return value if value.bit_length() <= _LONGEST_INT else text(value)
    if type(value) is float:
        return value if isfinite(value) else str(value)
    found: Any = value
    kind: Any = type(value)
    if kind is dict and depth < _DEEPEST:
        entries: list[tuple[Any, Any]] = list(found.items())
        return {text(key): plain(item, depth + 1) for key, item in entries[:MOST]}
    if kind in (list, tuple) and depth < _DEEPEST:
        return [plain(item, depth + 1) for item in found[:MOST]]
    return text(found)


def error(found: BaseException) -> dict[str, str]:
    """The class and the text of an exception."""
    return {"type": type(found).__qualname__, "message": text(found)}
