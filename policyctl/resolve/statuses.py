"""Status lists such as ``("408", "500-599")`` as ranges of numbers."""

from __future__ import annotations

from collections.abc import Iterable

Range = tuple[int, int]


def parse(status: str) -> Range | None:
    """The first and last number of ``429`` or ``502-504``; None for a name or SQLSTATE."""
    first, dash, last = status.partition("-")
    if len(first) == 3 and first.isdecimal() and (last.isdecimal() or not dash):
        return int(first), int(last if dash else first)
    return None


def without(statuses: tuple[str, ...], removed: Iterable[str]) -> tuple[str, ...]:
    """``statuses`` less the numbers in ``removed``, so that the two do not overlap."""
    holes = sorted(hole for hole in map(parse, removed) if hole is not None)
    if not holes:
        return statuses
    kept: list[str] = []
    for status in statuses:
        span = parse(status)
        kept.extend([status] if span is None else map(_text, _cut(span, holes)))
    return tuple(kept)


def _cut(span: Range, holes: list[Range]) -> list[Range]:
    """The parts of ``span`` that no hole covers; ``holes`` are sorted."""
    first, last = span
    parts: list[Range] = []
    for low, high in holes:
        if high < first or low > last:
            continue
        if low > first:
            parts.append((first, low - 1))
        first = high + 1
    if first <= last:
        parts.append((first, last))
    return parts


def _text(span: Range) -> str:
    return str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}"
