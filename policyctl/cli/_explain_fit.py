"""Pages of ``explain`` in a narrow terminal: lines break between words and columns."""

from __future__ import annotations

import re
from textwrap import wrap

_BAR = re.compile(r"( +\S+  \|[=. ]+\|)  (.*)")
_ESCAPE = re.compile(r"\033\[\d+m")


def text(page: str, width: int) -> str:
    """A page with every line that is too long broken between words."""
    return "".join(
        f"{part}\n" for line in page.splitlines() for part in line_parts(line, width)
    )


def line_parts(line: str, width: int) -> list[str]:
    """One line as lines of at most ``width`` columns, if its words allow that."""
    if length(line) <= width or _ESCAPE.search(line):
        return [line]
    bar = _BAR.fullmatch(line)
    if bar is not None:
        return [bar[1], *folded(bar[2], 6, width)]
    indent = len(line) - len(line.lstrip())
    more = " " * (indent + (0 if _is_codes(line) else 2))
    return _wrap(line.strip(), " " * indent, more, width)


def row(cells: tuple[str, str, str], widths: tuple[int, int], width: int) -> list[str]:
    """A setting: path, value and origin beside each other, or below where that fits not.

    ``widths`` are those of the first two columns.
    """
    path, value, origin = cells
    aligned = f"  {path:<{widths[0]}}  {value:<{widths[1]}}  {origin}"
    for line in (aligned, f"  {path}  {value}  {origin}"):
        if length(line) <= width:
            return [line]
    first = f"  {path}  {value}"
    if length(first) <= width:
        return [first, f"      {origin}"]
    return [f"  {path}", *folded(value, 6, width), f"      {origin}"]


def folded(words: str, indent: int, width: int) -> list[str]:
    """Words below each other, each line indented."""
    return _wrap(words, " " * indent, " " * indent, width)


def length(line: str) -> int:
    """The columns that a line takes, without its colours."""
    return len(_ESCAPE.sub("", line))


def _is_codes(line: str) -> bool:
    """Whether a line lists codes of rules alone, which go on where they began."""
    return all(re.fullmatch(r"[A-Z]{2}\d{3}", word) for word in line.split())


def _wrap(words: str, first: str, more: str, width: int) -> list[str]:
    """Lines that never cut a word, however long it is."""
    return wrap(
        words,
        width,
        initial_indent=first,
        subsequent_indent=more,
        break_long_words=False,
        break_on_hyphens=False,
    )
