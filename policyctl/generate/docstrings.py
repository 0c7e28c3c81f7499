"""Docstrings of any text, made safe and wrapped.

Their lines hold no tab, control or trailing space, which black would change, and no way
out of the docstring.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from policyctl.generate.layout import fits
from policyctl.generate.literals import text
from policyctl.model.code.scope import FunctionNode

WIDTH = 79
_SIMPLE = re.compile(r"[!#-\[\]-~](?:[ !#-\[\]-~]*[!#-\[\]-~])?")
_QUOTES = '"""'


def paragraph(value: str, indent: str = "", hang: str = "") -> list[str]:
    """The lines of ``value``, wrapped; lines that fit are kept as they are.

    Every line begins with ``indent``; what continues a line, with ``hang`` as well.
    Blank lines at both ends are dropped.
    """
    if _SIMPLE.fullmatch(value) and len(indent) + len(value) <= WIDTH:
        return [indent + value]
    lines: list[str] = []
    for raw in value.replace("\r\n", "\n").replace("\t", "    ").split("\n"):
        body = text(raw.strip(" "))
        if body or lines:
            margin = indent + " " * min(len(raw) - len(raw.lstrip(" ")), 40)
            lines.extend(_wrap(body, margin if body else "", hang))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def listing(values: Iterable[str], indent: str, hang: str = "") -> list[str]:
    """One wrapped paragraph for each value, without blank lines between."""
    return [line for value in values for line in paragraph(value, indent, hang)]


def docstring_of(node: FunctionNode) -> str:
    """The docstring of a function without its indentation; nothing where it has none.

    Spaces alone are indentation, as for the compiler of Python 3.13. ``inspect.cleandoc``
    of earlier versions took form feeds and wide spaces for some as well.
    """
    written = ast.get_docstring(node, clean=False) or ""
    first, *others = written.expandtabs().split("\n")
    margins = [len(line) - len(line.lstrip(" ")) for line in others if line.strip(" ")]
    margin = min(margins, default=0)
    lines = [first.lstrip(" "), *(line[margin:] for line in others)]
    return "\n".join(lines).strip("\n")


def quoted(lines: Sequence[str], indent: str = "") -> tuple[str, ...]:
    """The lines with their quotes; nothing for nothing.

    A single line is closed where it ends, unless its end would run into the quotes.
    """
    if not lines:
        return ()
    first = lines[0].lstrip(" ")
    if first.startswith('"'):
        first = f"\\{first}"
    opening = f"{indent}{_QUOTES}{first}"
    if len(lines) == 1 and first[-1] not in '"\\' and fits(opening + _QUOTES):
        return (opening + _QUOTES,)
    return (opening, *lines[1:], indent + _QUOTES)


def _wrap(body: str, margin: str, hang: str) -> list[str]:
    lines: list[str] = []
    line = margin
    for word in body.split(" "):
        if line.strip() and len(line) + 1 + len(word) > WIDTH:
            lines.append(line.rstrip())
            line = margin + hang
        line += word if not line.strip() else f" {word}"
    lines.append(line.rstrip())
    return lines
