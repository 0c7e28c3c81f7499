"""Any value as a tree that JSON can hold and that is the same in every process."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEEPEST = 60
_TEXT_MODULES = ("decimal", "uuid", "pathlib", "fractions", "datetime", "ipaddress")


def tree(value: Any, strict: bool = False, depth: int = 0) -> Any:
    """Equal values give equal trees; unlike values of known types unlike ones.

    Known are None, booleans, numbers, texts, bytes, sequences, sets, mappings, dates
    and times, Decimal, UUID, paths, members of enums, dataclasses and pydantic models.
    Of any other object only the type counts.

    Args:
        value: what to look at; never changed, and never asked for its repr.
        strict: refuse objects of which only the type is known.
        depth: how many containers it is in; deeper than 60 only types count.

    Raises:
        TypeError: ``strict``, and there is such an object.
    """
    kind: type[Any] = _kind(value)
    if hasattr(kind, "__members__"):
        return [kind.__qualname__, value.name]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth < _DEEPEST:
        found = _container(kind, value, strict, depth + 1)
        if found is not None:
            return found
    if isinstance(value, (bytes, bytearray)):
        return ["bytes", bytes(value).hex()]
    if hasattr(kind, "isoformat"):
        return [kind.__qualname__, value.isoformat()]
    if kind.__module__.partition(".")[0] in _TEXT_MODULES:
        return [kind.__qualname__, str(value)]
    if strict:
        raise TypeError(f"a {kind.__qualname__}")
    return ["object", f"{kind.__module__}.{kind.__qualname__}"]


def _container(kind: type[Any], value: Any, strict: bool, depth: int) -> Any:
    def inner(item: Any) -> Any:
        return tree(item, strict, depth)

    if issubclass(kind, (list, tuple)):
        return [inner(item) for item in value]
    if issubclass(kind, (set, frozenset)):
        return ["set", sorted(json.dumps(inner(item)) for item in value)]
    if issubclass(kind, dict):
        pairs = ([json.dumps(inner(k)), inner(v)] for k, v in value.items())
        return ["dict", sorted(pairs, key=lambda pair: str(pair[0]))]
    if hasattr(kind, "__dataclass_fields__"):
        names = list(kind.__dataclass_fields__)
        return [kind.__qualname__, [[n, inner(getattr(value, n))] for n in names]]
    if hasattr(kind, "model_dump"):
        return [kind.__qualname__, inner(value.model_dump())]
    return None


def _kind(value: object) -> type[Any]:
    return type(value)
