"""Paragraphs of docstrings: any text, made safe and wrapped.

The lines end up between three double quotes. They hold no tab, control or trailing
space, which black would change, and no way out of the docstring.
"""

from __future__ import annotations

from collections.abc import Iterable

from policyctl.generate.literals import text

WIDTH = 79


def paragraph(value: str, indent: str = "", hang: str = "") -> list[str]:
    """The lines of ``value``, wrapped; lines that fit are kept as they are.

    Every line begins with ``indent``; what continues a line, with ``hang`` as well.
    Blank lines at both ends are dropped.
    """
    lines: list[str] = []
    for raw in value.replace("\r\n", "\n").replace("\t", "    ").split("\n"):
        body = text(raw.strip(" "))
        if body or lines:
            margin = indent + " " * min(len(raw) - len(raw.lstrip(" ")), 40)
            lines.extend(_wrap(body, margin if body else "", hang))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def bullets(values: Iterable[str], indent: str) -> list[str]:
    """One wrapped paragraph for each value, without blank lines between."""
    return [line for value in values for line in paragraph(value, indent)]


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
