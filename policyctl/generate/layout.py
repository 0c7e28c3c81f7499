"""Expressions and how they are laid out on lines, as black leaves them.

A group is printed on one line where it fits into 88 columns, and else with one item
per line and a trailing comma, which black keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLUMNS = 88


@dataclass(frozen=True, slots=True)
class Group:
    """Items in brackets: a call, tuple, list or dictionary.

    ``head`` is what stands before the opening bracket (a callable's name, or nothing);
    every item is a prefix (``name=``, ``"key": `` or nothing) and an expression.
    """

    head: str
    brackets: str
    items: tuple[tuple[str, Expr], ...]

    @property
    def opening(self) -> str:
        """Everything up to the first item."""
        return self.head + self.brackets[0]


Expr = str | Group


def call(name: str, arguments: Iterable[tuple[str, Expr]]) -> Group:
    """``name(keyword=value, …)``."""
    return Group(name, "()", tuple((f"{key}=", value) for key, value in arguments))


def sequence(items: Iterable[Expr], brackets: str = "()") -> Group:
    """A tuple, or a list with ``brackets="[]"``."""
    return Group("", brackets, tuple(("", item) for item in items))


def one_line(expression: Expr) -> str:
    """The expression on one line, however long."""
    if isinstance(expression, str):
        return expression
    inner = ", ".join(prefix + one_line(item) for prefix, item in expression.items)
    if _is_single_tuple(expression):
        inner += ","
    return f"{expression.opening}{inner}{expression.brackets[1]}"


def lay_out(prefix: str, expression: Expr, indent: int = 0, suffix: str = "") -> str:
    """The lines of ``prefix`` + ``expression`` + ``suffix`` at ``indent`` columns.

    The first line carries its indentation; there is no newline at the end.
    """
    margin = " " * indent
    flat = f"{margin}{prefix}{one_line(expression)}{suffix}"
    if isinstance(expression, str) or not expression.items or fits(flat):
        return flat
    lines = [f"{margin}{prefix}{expression.opening}"]
    for name, item in expression.items:
        lines.append(lay_out(name, item, indent + 4, ","))
    lines.append(f"{margin}{expression.brackets[1]}{suffix}")
    return "\n".join(lines)


def fits(line: str) -> bool:
    """Whether a line is at most 88 columns wide.

    Characters outside ASCII count as two, the most that one can take, so that the
    answer depends on no Unicode database.
    """
    wide = 0 if line.isascii() else sum(not char.isascii() for char in line)
    return len(line) + wide <= COLUMNS


def _is_single_tuple(group: Group) -> bool:
    return not group.head and group.brackets == "()" and len(group.items) == 1
