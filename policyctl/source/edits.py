"""Editing the original text: only the edited characters change, byte for byte.

Comments, quotes, line breaks and the byte-order mark stay as they are, because nothing
is ever dumped from the nodes.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policyctl.diagnostics import Edit, Fix
from policyctl.source.nodes import Source


@dataclass(frozen=True, slots=True)
class Applied:
    """The new text, the fixes in it, and those that have to wait for the next pass."""

    text: str
    applied: tuple[Fix, ...]
    waiting: tuple[Fix, ...]


def apply_edits(source: Source, edits: Iterable[Edit]) -> str:
    """Return the text of ``source`` after all ``edits``.

    Insertions at one place keep their order.

    Raises:
        ValueError: two edits overlap, or one lies outside the text or in another file.
    """
    ordered = sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))
    pieces: list[str] = []
    position = 0
    for edit in ordered:
        start, end = _range(source, edit)
        if start < position:
            raise ValueError(f"edits of {source.path} overlap at offset {start}")
        pieces += (source.text[position:start], edit.text)
        position = end
    return "".join((*pieces, source.text[position:]))


def apply_fixes(source: Source, fixes: Iterable[Fix]) -> Applied:
    """Apply each fix whole, in the order given; one that meets an earlier one waits.

    Fixes meet where their ranges overlap, and where both insert at one place.

    Raises:
        ValueError: a fix's own edits overlap, or lie outside the text.
    """
    applied: list[Fix] = []
    waiting: list[Fix] = []
    taken: list[tuple[int, int]] = []
    for fix in fixes:
        ranges = [_range(source, edit) for edit in fix.edits]
        if any(_meet(mine, other) for mine in ranges for other in taken):
            waiting.append(fix)
        else:
            applied.append(fix)
            taken += ranges
    text = apply_edits(source, [edit for fix in applied for edit in fix.edits])
    return Applied(text, tuple(applied), tuple(waiting))


def encode(source: Source, text: str) -> bytes:
    """Return ``text`` as the bytes of its file: UTF-8, with the mark that it had."""
    mark = codecs.BOM_UTF8 if source.has_bom else b""
    return mark + text.encode("utf-8")


def replacement(source: Source, start: int, end: int, text: str) -> Edit:
    """An edit of the characters ``start`` to ``end``.

    Line breaks of ``text`` are written as ``\\n`` and become those of the file.
    """
    if source.newline != "\n":
        text = text.replace("\n", source.newline)
    return Edit(source.span(start, end), text)


def _range(source: Source, edit: Edit) -> tuple[int, int]:
    span = edit.span
    if span.path != source.path:
        raise ValueError(f"an edit of {span.path} cannot be applied to {source.path}")
    if not 0 <= span.start <= span.end <= len(source.text):
        raise ValueError(f"{span} is not in the text of {len(source.text)} characters")
    return span.start, span.end


def _meet(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two ranges overlap, or an empty one touches the inside or start of another."""
    if one[0] == one[1] or other[0] == other[1]:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]
