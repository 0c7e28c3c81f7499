"""Source lines with underlines, measured in terminal cells."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from policyctl.diagnostics import Span
from policyctl.reports.encode import visible
from policyctl.source.nodes import Source

TAB_WIDTH = 4
MAX_WIDTH = 100
_CONTEXT = 30
_CUT = "…"
_MAX_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to underline, with ``^`` if it is the primary one, and its words."""

    span: Span
    words: str = ""
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an excerpt: a source line, an underline of it, or a gap.

    ``number`` is set for source lines; ``kind`` is ``source``, ``primary``,
    ``secondary`` or ``gap``.
    """

    kind: str
    text: str
    number: int | None = None


def excerpt(source: Source, marks: Sequence[Mark], width: int = MAX_WIDTH) -> list[Row]:
    """Return the lines that hold the marks, in order, each with its underlines.

    Tabs are widened, wide and combining characters measured, control characters shown
    as escapes, and lines over ``width`` cropped around the first mark. A mark over several lines
    is drawn on its first.
    """
    by_line: dict[int, list[Mark]] = {}
    for mark in sorted(
        marks, key=lambda m: (m.span.line, not m.primary, m.span.column)
    ):
        by_line.setdefault(mark.span.line, []).append(mark)
    rows: list[Row] = []
    before: int | None = None
    for line, on_line in by_line.items():
        if before is not None and line > before + 1:
            rows.append(Row("gap", "..."))
        rows.extend(_line_rows(source.line_text(line), line, on_line, width))
        before = line
    return rows


def _line_rows(text: str, line: int, marks: Sequence[Mark], most: int) -> list[Row]:
    """The rows of one line; marks too far apart for one cropped row get rows of own."""
    if len(marks) > 1 and _width(text[:_MAX_CHARACTERS].expandtabs(1)) > most:
        in_order = sorted(marks, key=lambda m: m.span.column)
        return [
            row for mark in in_order for row in _one_window(text, line, [mark], most)
        ]
    return _one_window(text, line, marks, most)


def _one_window(text: str, line: int, marks: Sequence[Mark], most: int) -> list[Row]:
    first = marks[0].span.column - 1
    text, shift = _window(text, first)
    cells, positions = _plain_cells(text) or _cells(text)
    focus = positions[min(max(first - shift, 0), len(text))]
    start, end = _crop(positions, focus, most)
    shown, offset = _cut(cells, positions, start, end)
    limit = _width(shown)
    rows = [Row("source", shown, line)]
    for mark in marks:
        from_, to = _columns(mark.span, line, shift, len(text))
        left = min(max(positions[from_] - offset, 0), limit)
        right = max(min(positions[to] - offset, limit), left + 1)
        sign = "^" if mark.primary else "-"
        words = f" {mark.words}" if mark.words else ""
        kind = "primary" if mark.primary else "secondary"
        rows.append(Row(kind, " " * left + sign * (right - left) + words))
    return rows


def _window(text: str, first: int) -> tuple[str, int]:
    """The part of an enormous line that is worth measuring, and where it starts."""
    if len(text) <= _MAX_CHARACTERS:
        return text, 0
    start = max(0, first - _MAX_CHARACTERS // 2)
    return text[start : start + _MAX_CHARACTERS], start


def _plain_cells(text: str) -> tuple[Sequence[str], Sequence[int]] | None:
    """The cells of a text of which each character is shown as it is, in one cell."""
    if text.isascii() and text.isprintable():
        return text, range(len(text) + 1)
    return None


def _cells(text: str) -> tuple[Sequence[str], Sequence[int]]:
    """What is shown for each character, and the cell that each begins at."""
    cells: list[str] = []
    positions = [0]
    at = 0
    for character in text:
        if character == "\t":
            cell = " " * (TAB_WIDTH - at % TAB_WIDTH)
            width = len(cell)
        else:
            cell = visible(character)
            width = len(cell) if len(cell) > 1 else _cell_width(cell)
        cells.append(cell)
        at += width
        positions.append(at)
    return cells, positions


def _cell_width(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _width(text: str) -> int:
    return sum(map(_cell_width, text))


def _crop(positions: Sequence[int], focus: int, most: int) -> tuple[int, int]:
    """The range of cells to show, so that ``focus`` is among them."""
    total = positions[-1]
    if total <= most:
        return 0, total
    start = max(0, min(focus - min(_CONTEXT, most // 3), total - most))
    return start, start + most


def _cut(
    cells: Sequence[str], positions: Sequence[int], start: int, end: int
) -> tuple[str, int]:
    """The text of a range of cells with cut marks, and the cell that it begins at."""
    first = bisect_left(positions, start)
    last = bisect_right(positions, end) - 1
    if last <= first:
        return "", start
    shown = "".join(cells[first:last])
    offset = positions[first]
    if first > 0:
        shown, offset = _CUT + shown, offset - 1
    if last < len(cells):
        shown += _CUT
    return shown, offset


def _columns(span: Span, line: int, shift: int, length: int) -> tuple[int, int]:
    """First and last character of a mark within its line, counted from 0."""
    start = min(max(span.column - 1 - shift, 0), length)
    stop = span.end_column - 1 - shift if span.end_line == line else length
    return start, min(max(stop, start), length)
