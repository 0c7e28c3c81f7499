"""Python's text as tokens, f-strings of Python 3.12 and later among them.

The tokenizer of the standard library knows the strings of its own version alone: in one
of 3.11, ``f"{x["a"]}"`` ends before the ``a`` (PEP 701). This one finds their ends in any
version, and reads no more of a text than it takes to tell code from strings and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_SPACE = re.compile(r"(?:[ \t\f\r\n]|\\\r?\n|#[^\n]*)+")
_STRING = re.compile(
    r"""(?i:(?P<prefix>[rbu]|br|rb|f|t|fr|rf|tr|rt)?)(?P<quote>\"""|'''|"|')"""
)
_NAME = re.compile(r"[^\W\d]\w*")
_OTHER = re.compile(r"\d\w*|->|:=|\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^@=!<>]=|\.\.\.|.")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a text, from ``start`` to before ``end``."""

    kind: Literal["name", "string", "formatted", "other"]
    text: str
    start: int
    end: int


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """The tokens of a text without spaces and comments.

    Raises:
        SyntaxError: a string has no end.
    """
    while True:
        space = _SPACE.match(text, start)
        start = space.end() if space is not None else start
        if start >= len(text):
            return
        string = _STRING.match(text, start)
        if string is not None:
            is_formatted = set((string["prefix"] or "").lower()) & {"f", "t"}
            end = (_formatted_end if is_formatted else _plain_end)(text, string)
            kind: Literal["string", "formatted"]
            kind = "formatted" if is_formatted else "string"
            yield Token(kind, text[start:end], start, end)
        else:
            name = _NAME.match(text, start)
            other = name or _OTHER.match(text, start)
            assert other is not None
            end = other.end()
            yield Token("other" if name is None else "name", other[0], start, end)
        start = end


def closing(found: list[Token], opening: int) -> int:
    """The index of the bracket that closes the one at ``opening``.

    Raises:
        SyntaxError: there is none.
    """
    depth = 0
    for index in range(opening, len(found)):
        if found[index].kind == "other":
            depth += found[index].text in _OPENING
            depth -= found[index].text in _CLOSING
        if depth == 0:
            return index
    raise SyntaxError("a bracket is never closed")


def _plain_end(text: str, string: re.Match[str]) -> int:
    quote = string["quote"]
    position = string.end()
    while position < len(text):
        if text.startswith(quote, position):
            return position + len(quote)
        if text[position] == "\n" and len(quote) == 1:
            break
        position += 2 if text[position] == "\\" else 1
    raise SyntaxError("a string has no end")


def _formatted_end(text: str, string: re.Match[str]) -> int:
    quote = string["quote"]
    is_raw = "r" in string["prefix"].lower()
    position = string.end()
    while position < len(text):
        here = text[position]
        if text.startswith(quote, position):
            return position + len(quote)
        if here == "\n" and len(quote) == 1:
            break
        if text.startswith(("{{", "}}"), position):
            position += 2
        elif here == "{":
            position = _field_end(text, position + 1)
        elif here == "\\":
            named = not is_raw and text.startswith("\\N{", position)
            position += (
                3 if named else 1 if text[position + 1 : position + 2] in "{}" else 2
            )
        else:
            position += 1
    raise SyntaxError("a string has no end")


def _field_end(text: str, start: int) -> int:
    """The place after the ``}`` of a replacement field."""
    depth = 0
    for token in tokens(text, start):
        if token.kind != "other":
            continue
        if depth == 0 and token.text == "}":
            return token.end
        if depth == 0 and token.text in (":", ":="):
            return _format_end(text, token.start + 1)
        depth += token.text in _OPENING
        depth -= token.text in _CLOSING
    raise SyntaxError("a replacement field has no end")


def _format_end(text: str, position: int) -> int:
    """The place after the ``}`` that ends a format, with the fields inside of it."""
    while position < len(text):
        if text[position] == "}":
            return position + 1
        position = (
            _field_end(text, position + 1) if text[position] == "{" else position + 1
        )
    raise SyntaxError("a replacement field has no end")
