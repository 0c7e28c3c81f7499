"""Models as the plain dictionaries that later steps merge."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from pydantic import BaseModel


def dump(model: BaseModel) -> dict[str, Any]:
    """The keys that were written, by their names in YAML, with blocks as dictionaries.

    What ``model_dump(exclude_unset=True)`` gives. That needs the serializer of each block,
    which releases of pydantic before 2.14 do not build together with the whole model.
    """
    written = model.model_fields_set
    aliases = _aliases(type(model))
    return {
        aliases.get(name, name): _plain(value)
        for name, value in model.__dict__.items()
        if name in written
    }


@cache
def _aliases(kind: type[BaseModel]) -> dict[str, str]:
    return {n: f.alias for n, f in kind.model_fields.items() if f.alias is not None}


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return dump(value)
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value)
        return {key: _plain(item) for key, item in entries.items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
