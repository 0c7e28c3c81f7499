"""The fields of resolved blocks and their values, each number in its field's own type.

Two blocks that compare equal (``30 == 30.0``) are so made to print the same, which lets
what is printed for one be used for the other.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

_cache: dict[Any, tuple[tuple[str, bool], ...] | None] = {}


def field_values(value: Any) -> list[tuple[str, Any]] | None:
    """The (name, value) pairs of a dataclass instance in order; else None."""
    cls: Any = value.__class__
    names = _cache.get(cls, ())
    if names == ():
        names = _cache[cls] = _fields(value)
    if names is None:
        return None
    found: list[tuple[str, Any]] = []
    for name, is_float in names:
        item = getattr(value, name)
        found.append((name, float(item) if is_float and item is not None else item))
    return found


def _fields(value: Any) -> tuple[tuple[str, bool], ...] | None:
    """Names of fields, and whether the annotation says float; None for other values."""
    if not hasattr(value, "__dataclass_fields__"):
        return None
    return tuple((f.name, str(f.type).startswith("float")) for f in fields(value))
