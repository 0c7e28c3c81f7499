"""The comments of a text, which YAML parsers drop."""

from __future__ import annotations

import re

from policyctl.source.nodes import Comment, Source

_COMMENT = re.compile(r"(?<![^ \t\r\n])#[^\r\n]*")


def find_comments(source: Source, start: int, end: int) -> tuple[Comment, ...]:
    """Return the comments between two offsets, in order, in linear time.

    A ``#`` begins a comment at the start of a line or after white space, unless it lies
    in a quoted or block scalar, which the reader has noted in ``source.hidden``. (In a
    plain scalar it cannot: there it would have ended the scalar.)
    """
    text = source.text
    if "#" not in text:
        return ()
    found: list[Comment] = []
    position = start
    for first, last in (*sorted(source.hidden), (end, end)):
        if last <= position:
            continue
        _collect(text, position, min(first, end), found)
        position = _after_hidden(text, first, last, found)
        if position >= end:
            break
    return tuple(found)


def _collect(text: str, start: int, end: int, found: list[Comment]) -> None:
    for match in _COMMENT.finditer(text, start, end):
        at = match.start()
        line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        own = not text[line:at].strip(" \t")
        found.append(Comment(at, match.end(), match.group(), own))


def _after_hidden(text: str, start: int, end: int, found: list[Comment]) -> int:
    """Where to go on after a hidden scalar; a block scalar's header may have a comment."""
    if text[start : start + 1] in ("|", ">"):
        header = re.compile(r"[^\r\n]*").match(text, start, end)
        if header is not None:
            _collect(text, start, header.end(), found)
    return end
