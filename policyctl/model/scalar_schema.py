"""The JSON Schema of single values."""

from __future__ import annotations

from typing import Any

from policyctl.checks.limits import Limit
from policyctl.checks.references import CONDITIONS, REJECTIONS
from policyctl.model import kinds
from policyctl.model.fields import Scalar
from policyctl.model.scalars import (
    Choice,
    Flag,
    IsoDate,
    Number,
    Status,
    Target,
    Text,
    Version,
)

_DIGITS = r"[0-9]+(\.[0-9]+)?"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED = rf"{_NAME}(\.{_NAME})*"

DURATION = rf"^(?=[0-9])({_DIGITS}d)?({_DIGITS}h)?({_DIGITS}m)?({_DIGITS}s)?({_DIGITS}ms)?({_DIGITS}us)?$"
PERCENT = r"^0*(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)%$"
RATE = rf"^{_DIGITS}/(s|m|h)$"
SIZE = rf"^{_DIGITS}(B|KiB|MiB|GiB|TiB)$"
WINDOW = rf"^([0-9]+ calls?|{DURATION[1:-1]})$"
REFERENCE = rf"^{_DOTTED}:{_DOTTED}$"

_TEXTS: dict[Text, str] = {
    kinds.CALLABLE: REFERENCE,
    kinds.CLASS: REFERENCE,
    kinds.CODEC: rf"^(json|{_DOTTED}:{_DOTTED})$",
    kinds.KEYWORD: rf"^{_NAME}$",
    kinds.FIELD: rf"^{_DOTTED}$",
    kinds.ARGUMENT_PATH: rf"^{_DOTTED}$",
    kinds.SCOPE: rf"^(operation|service|argument:{_DOTTED})$",
    kinds.VARIABLE: rf"^{_NAME}$",
    kinds.HEADER: r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    kinds.RULE: r"^[A-Z]{2}[0-9]{3}$",
    kinds.PRESET: r"^[a-z][a-z0-9]*([-_][a-z0-9]+)*$",
    kinds.SERVICE: r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$",
}


def scalar_schema(marker: Scalar) -> dict[str, Any]:
    """The schema of one value, ``off`` left out."""
    if isinstance(marker, Number):
        return _number(marker.limit)
    if isinstance(marker, Choice):
        return {"enum": list(marker.values)}
    if isinstance(marker, Flag):
        return {"type": "boolean"}
    if isinstance(marker, Text):
        return _text(marker)
    if isinstance(marker, Status):
        code = {"type": "integer", "minimum": 100, "maximum": 599}
        text = {
            "type": "string",
            "pattern": r"^([0-9]{3}(-[0-9]{3})?|[A-Z_]+|[0-9A-Z]{5}|[0-9A-Z]{2,4}\*)$",
        }
        return {"anyOf": [code, text]}
    if isinstance(marker, IsoDate):
        return {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    if isinstance(marker, Target):
        return {
            "anyOf": [
                {"type": "string", "pattern": PERCENT},
                {"type": "number", "minimum": 0},
            ]
        }
    return {"const": 1} if isinstance(marker, Version) else {}


def _text(marker: Text) -> dict[str, Any]:
    if marker.name == "invalid-exception":
        rejections = REJECTIONS if marker.parse is kinds.rejected else ()
        names = [*CONDITIONS, *rejections]
        return {
            "anyOf": [
                {"enum": names},
                {"type": "string", "pattern": rf"^({_NAME}|{_DOTTED}:{_DOTTED})$"},
            ]
        }
    pattern = _TEXTS.get(marker)
    if pattern is None and marker.parse is kinds.OPERATION.parse:
        pattern = r"^[^.\s]+\.[^.\s]+$"
    return (
        {"type": "string", "pattern": pattern}
        if pattern
        else {"type": "string", "minLength": 1}
    )


def _number(limit: Limit) -> dict[str, Any]:
    bounds = {"minimum": limit.minimum, "maximum": limit.maximum}
    if limit.kind == "count":
        count: dict[str, Any] = {"type": "integer", **bounds}
        return {"anyOf": [count, {"const": limit.word}]} if limit.word else count
    if limit.kind == "number":
        return {"type": "number", **bounds}
    if limit.kind == "ratio":
        return {
            "anyOf": [
                {"type": "string", "pattern": PERCENT},
                {"type": "number", **bounds},
            ]
        }
    return {
        "type": "string",
        "pattern": {"duration": DURATION, "rate": RATE, "size": SIZE}[limit.kind],
    }
