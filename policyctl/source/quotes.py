"""Writing scalars: the quoting that loads back to the same value."""

from __future__ import annotations

import math
import re

from policyctl.source.scalars import Scalar, is_ambiguous, resolve

_PLAIN = re.compile(
    r"(?!\.\.\.)[A-Za-z0-9_./](?:[\w./%+@()=-]|:(?=[\w/.-])| (?=[^\s#]))*\Z", re.ASCII
)
_PRINTABLE = re.compile(
    "[\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd"
    "\\U00010000-\\U0010ffff]*\\Z"
)
_SURROGATE = re.compile("[\\ud800-\\udfff]")
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\0": "\\0",
}
_ESCAPED_PAIR = re.compile(r'"((?:\\.|[^"\\\r\n])*)"')


def scalar_text(value: Scalar) -> str:
    """Return YAML text of one line that loads to ``value``, plain where that is safe.

    Text that YAML 1.1 tools would take for something else (``yes``, ``1:30``) is quoted.

    Raises:
        ValueError: ``value`` is a string that holds half of a surrogate pair.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if _PLAIN.match(value) and not is_ambiguous(value) and _is_text(value):
        return value
    return quote(value)


def quote(text: str) -> str:
    """Return ``text`` in single quotes, or in double quotes where it needs escapes.

    Raises:
        ValueError: ``text`` holds half of a surrogate pair.
    """
    if _PRINTABLE.match(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def has_surrogate(text: str) -> bool:
    """Whether ``text`` holds half of a surrogate pair, which no encoding can write."""
    return _SURROGATE.search(text) is not None


def raw_double_quoted(text: str, start: int) -> tuple[str, int] | None:
    """The double-quoted text at ``start`` with its backslashes taken literally, requoted,
    and the offset where it ends.

    None where no double-quoted text ends on that line.
    """
    found = _ESCAPED_PAIR.match(text, start)
    return None if found is None else (quote(found.group(1)), found.end())


def _is_text(value: str) -> bool:
    try:
        return isinstance(resolve(value), str)
    except ValueError:
        return False


def _float_text(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    mantissa, exponent, digits = text.partition("e")
    if exponent and "." not in mantissa:
        mantissa += ".0"
    return mantissa + exponent + digits


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known is not None:
        return known
    if _PRINTABLE.match(character):
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"half of a surrogate pair, U+{code:04X}, cannot be written")
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
