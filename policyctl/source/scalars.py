"""Plain scalars to values by the YAML 1.2 core schema, ambiguous numbers left as text.

https://yaml.org/spec/1.2.2/#103-core-schema. One narrowing: whole numbers with a
leading zero (``010``, ``0o10``) stay strings, because YAML 1.1 and 1.2 read them as
different numbers; so the reader never picks one silently.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

MAX_NUMBER_LENGTH = 100
"""Characters of the longest accepted number; Python itself refuses 4,301 digits."""

_CONSTANTS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(
    r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?"
    r"|[0-9]+[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))\Z"
    r"|\.(?:nan|NaN|NAN)\Z"
)
_AMBIGUOUS = re.compile(
    r"[-+]?(?:0[0-9]+|0o[0-7]+|0b[01_]+|[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?"
    r"|0x[0-9a-fA-F_]+|[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)\Z"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"|(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|=|<<)\Z"
)
_NUMBER_START = frozenset("-+.0123456789")
_CACHE_LIMIT = 20_000

_cache: dict[str, Scalar] = dict(_CONSTANTS)


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar.

    Raises:
        ValueError: a number of more than ``MAX_NUMBER_LENGTH`` characters.
    """
    try:
        return _cache[text]
    except KeyError:
        value = _number(text) if text[0] in _NUMBER_START else text
    if len(_cache) >= _CACHE_LIMIT:
        _cache.clear()
        _cache.update(_CONSTANTS)
    _cache[text] = value
    return value


def _number(text: str) -> Scalar:
    """The number that ``text`` is, or the text."""
    integer = _INTEGER.match(text)
    hexadecimal = None if integer else _HEXADECIMAL.match(text)
    if not (integer or hexadecimal or _FLOAT.match(text)):
        return text
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError(f"a number of {len(text):,} characters")
    if integer:
        return int(text)
    if hexadecimal:
        return int(text, 16)
    return float(text.replace(".", "", 1) if text[-1] in "fFnN" else text)


def is_ambiguous(text: str) -> bool:
    """Whether YAML 1.1 tools read this plain text as something else than a string."""
    return _AMBIGUOUS.match(text) is not None
