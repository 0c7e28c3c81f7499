"""The comments of a text, which YAML parsers drop."""

from __future__ import annotations

import re
from bisect import bisect_right

from policyctl.source.nodes import Comment, Source

_COMMENT = re.compile(r"(?<![^ \t\r\n])#[^\r\n]*")
_REST_OF_LINE = re.compile(r"[^\r\n]*")


def find_comments(source: Source, start: int, end: int) -> tuple[Comment, ...]:
    """Return the comments between two offsets, in order, in linear time.

    A ``#`` begins a comment at the start of a line or after white space, unless it lies
    in a quoted or block scalar, which the reader has noted in ``source.hidden``; the
    first line of a block scalar may have one after its sign. (In a plain scalar it
    cannot lie: there it would have ended the scalar.)
    """
    text = source.text
    if "#" not in text:
        return ()
    found: list[Comment] = []
    position = start
    hidden = source.hidden
    for index in range(bisect_right(hidden, (start, start)), len(hidden)):
        first, last = hidden[index]
        if first >= end:
            break
        _collect(source, position, first, found)
        if text[first] in "|>":
            header = _REST_OF_LINE.match(text, first, last)
            _collect(source, first, first if header is None else header.end(), found)
        position = last
    _collect(source, position, end, found)
    return tuple(found)


def _collect(source: Source, start: int, end: int, found: list[Comment]) -> None:
    for match in _COMMENT.finditer(source.text, start, end):
        at = match.start()
        line = source.line_starts[bisect_right(source.line_starts, at) - 1]
        own = not source.text[line:at].strip(" \t")
        found.append(Comment(at, match.end(), match.group(), own))
