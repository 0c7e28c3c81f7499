"""The fields of dataclasses, looked up once per class."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

_cache: dict[Any, tuple[str, ...]] = {}


def field_names(value: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass instance, in order."""
    cls: Any = value.__class__
    found = _cache.get(cls)
    if found is None:
        found = _cache[cls] = tuple(field.name for field in fields(value))
    return found
