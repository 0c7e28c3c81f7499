"""Writes docs/conditions.md from the table of portable conditions.

python -m docs.conditions_page
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from policyctl.runtime.condition_table import TABLE

PAGE = Path(__file__).with_name("conditions.md")

HEAD = """\
# Portable conditions

`retry_on`, `record_on`, `ignore_on`, `never_retry_on` and `fallback_on` take three names
that mean the same whatever client library a function uses:

| condition | what happened | did the callee see the request? |
|---|---|---|
| `not_sent` | connection refused, no such host, no connection free in the pool | no |
| `connection_lost` | reset, closed or broken connection | it may have |
| `timeout` | connecting or reading took too long, or our own attempt timeout | it may have |

A timeout while connecting is both `not_sent` and `timeout`.

The operation's `transport` chooses the rows: those of that transport and those of any;
without a transport all of them. A class counts with its subclasses, the nearest class
that the table has decides, and of its lines the first that applies. Classes are compared
by package and name: a library that is not loaded costs nothing. "Wrapped" means that the
answer is that of the exception inside (its cause, `reason`, `orig`, an argument or its
context).

This page is made from `policyctl/runtime/condition_table.py` by
`python -m docs.conditions_page`.
"""

TITLES = {
    "any": "Any transport",
    "http": "transport: http",
    "grpc": "transport: grpc",
    "redis": "transport: redis",
    "sql": "transport: sql",
}


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for transport, rows in groupby(TABLE, key=lambda row: row[0]):
        parts.append(f"\n## {TITLES[transport]}\n\n| package | exception | condition |")
        parts.append("\n|---|---|---|\n")
        parts += [line(*row[1:]) for row in rows]
    return "".join(parts)


def line(packages: str, classes: str, clues: tuple[str, ...], conditions: str) -> str:
    """One row of the table."""
    names = ", ".join(f"`{name}`" for name in classes.split())
    said = [phrase(clue) for clue in clues if clue != "inside"]
    when = f" with {' and '.join(said)}" if said else ""
    answer = " and ".join(f"`{word}`" for word in conditions.split()) or "none"
    if "inside" in clues:
        answer = "that of the wrapped exception, if it has one"
    return f"| {packages.replace(' ', ', ')} | {names}{when} | {answer} |\n"


def phrase(clue: str) -> str:
    """A clue in words."""
    kind, _, rest = clue.partition(" ")
    if kind == "text":
        return f'the text "{rest}"'
    names = {"code": "status", "errno": "number", "sqlstate": "SQLSTATE"}
    values: Iterator[str] = (f"`{word}`" for word in rest.split())
    return f"{names[kind]} {' or '.join(values)}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
