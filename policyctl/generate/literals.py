"""Python literals and docstring text that nothing in a policy can break out of.

What is printed is what black would print: double quotes unless single quotes need
fewer backslashes, lower-case escapes, floats without a plus in the exponent. Which characters are printed
as they are depends on a fixed version of the Unicode database, so every Python prints
the same bytes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import ucd_3_2_0

MAX_DIGITS = 4000
_MAX_BITS = 13_288  # of the largest number with that many digits
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_NOT_PLAIN = re.compile(r"[^ !#-\[\]-~]")
_NOT_PLAIN_TEXT = re.compile(r"[^ -\[\]-~]")
# Letters and marks that show nothing; their categories alone do not tell.
_INVISIBLE = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u2800\u3164\uffa0"
    + "".join(chr(code) for code in range(0xFE00, 0xFE10))
)


class UnprintableError(ValueError):
    """A value that has no literal; the text says why."""


def string(text: str) -> str:
    """The literal of ``text``.

    Everything that is not a visible character or an ASCII space is escaped: controls,
    bidirectional marks, line separators, lone surrogates, NUL.
    """
    if "'" not in text and _PLAIN.fullmatch(text) is not None:
        return f'"{text}"'
    quote = "'" if text.count('"') > text.count("'") else '"'
    body = _NOT_PLAIN.sub(lambda match: _escape(match[0], quote), text)
    if body and ucd_3_2_0.category(body[0])[0] == "M":
        body = _code(body[0]) + body[1:]
    if quote == "'":
        body = body.replace("'", "\\'")
    return f"{quote}{body}{quote}"


def number(value: int | float) -> str:
    """The literal of an integer or a float.

    Raises:
        UnprintableError: ``value`` is not finite or has over ``MAX_DIGITS`` digits.
    """
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise UnprintableError(f"{value!r} is not a finite number")
        return repr(value).replace("e+", "e")
    if value.bit_length() > _MAX_BITS:
        raise UnprintableError(f"the number has more than {MAX_DIGITS} digits")
    return repr(value)


def text(value: str) -> str:
    """``value`` for a comment or the inside of a docstring, on one line.

    The backslash and everything invisible is escaped, so that the docstring's value
    reads like its source; three quotes in a row are broken up. A lone surrogate is
    shown, not meant: Python 3.13 does not compile a docstring that holds one.
    """
    shown = _NOT_PLAIN_TEXT.sub(lambda match: _escape_in_text(match[0]), value)
    return shown.replace('"""', '""\\"')


def _escape(char: str, quote: str) -> str:
    if char == '"':
        return '\\"' if quote == '"' else char
    return _escape_other(char)


def _escape_in_text(char: str) -> str:
    shown = _escape_other(char)
    return f"\\{shown}" if "\ud800" <= char <= "\udfff" else shown


@lru_cache(maxsize=4096)
def _escape_other(char: str) -> str:
    short = _ESCAPES.get(char)
    if short is not None:
        return short
    visible = ucd_3_2_0.category(char)[0] in "LMNPS" and char not in _INVISIBLE
    return char if visible else _code(char)


def _code(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
