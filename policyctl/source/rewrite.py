"""Edits of a document's tree: set, insert and remove, in block and flow style.

Each function returns the edits that do it, or None where the text has a form that
cannot be edited safely (an alias, an anchor that is used elsewhere, an explicit ``?``
key); callers then make no fix. Nothing but the named entry and its separators changes.
"""

from __future__ import annotations

import re

from policyctl.diagnostics import Edit
from policyctl.source.edits import replacement
from policyctl.source.nodes import (
    Document,
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Source,
)
from policyctl.source.quotes import quote, scalar_text
from policyctl.source.scalars import Scalar

_ANCHOR = re.compile(r"(?:^|[\s\[{,:])&[^\s,\[\]{}]")
_REST_OF_LINE = re.compile(r"[^\r\n]*")
_LINE_BREAK = re.compile(r"\r\n?|\n")
_AFTER_ITEM = re.compile(r"(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*")


def set_scalar(document: Document, node: ScalarNode, value: Scalar) -> Edit | None:
    """Replace a scalar by ``value``, quoted as it needs, in quotes if it was quoted.

    A node that is reached through an alias changes at its anchor, so everywhere.

    Raises:
        ValueError: ``value`` is a string that holds half of a surrogate pair.
    """
    text = scalar_text(value)
    if isinstance(value, str):
        if node.style in ("single", "double"):
            text = quote(value)
        if node.style == "double" and text.startswith("'"):
            text = _double(value, text)
    source = document.source
    if node.start == node.end:
        before = source.text[node.start - 1 : node.start]
        text = text if not before or before in " \t\r\n" else f" {text}"
    return replacement(source, node.start, node.end, text)


def set_value(document: Document, entry: Entry, text: str) -> Edit | None:
    """Replace the value under a key by YAML ``text`` of one line.

    None where the value is a block, which would leave its lines, or an alias target.
    """
    start, end = entry.extent
    source = document.source
    if entry.merged or (entry.alias is None and _is_block(source, entry.value)):
        return None
    if _ANCHOR.search(source.text, entry.key.end, end):
        return None
    return replacement(source, start, end, text if start < end else f" {text}")


def insert_key(
    document: Document, mapping: MappingNode, key: str, text: str
) -> Edit | None:
    """Add ``key: text`` at the end of a mapping; ``text`` is YAML of one line."""
    source = document.source
    entry = f"{scalar_text(key)}: {text}"
    if mapping.flow:
        return _append_flow(source, mapping, entry, bool(mapping.entries))
    if source.text.startswith("?", mapping.start):
        return None
    return _append_block(source, mapping, entry)


def append_item(document: Document, sequence: SequenceNode, text: str) -> Edit | None:
    """Add an item at the end of a sequence; ``text`` is YAML of one line."""
    source = document.source
    if sequence.flow:
        return _append_flow(source, sequence, text, bool(sequence.items))
    return _append_block(source, sequence, f"- {text}")


def remove_key(document: Document, mapping: MappingNode, key: str) -> Edit | None:
    """Remove a key and its value, with the comment on the value's last line.

    The only key of a block mapping leaves ``{}`` behind.
    """
    entry = mapping.entries.get(key)
    if entry is None or entry.merged:
        return None
    source = document.source
    start = _with_properties(source, entry.key.start)
    if source.text[max(start - 2, 0) : start].startswith("?"):
        return None
    own = [e for e in mapping.entries.values() if not e.merged]
    starts = [_with_properties(source, e.key.start) for e in own]
    return _remove(source, mapping, starts, own.index(entry), entry.extent[1])


def remove_item(document: Document, sequence: SequenceNode, index: int) -> Edit | None:
    """Remove an item of a sequence; the only item of a block sequence leaves ``[]``.

    That is indented further than the dash was, which may stand right under its key.
    """
    source = document.source
    if not 0 <= index < len(sequence.items):
        return None
    starts = [
        _with_properties(source, sequence.extent(i)[0])
        for i in range(len(sequence.items))
    ]
    if not sequence.flow:
        starts = [_dash_before(source, start) for start in starts]
        if min(starts) < 0:
            return None
    return _remove(source, sequence, starts, index, sequence.extent(index)[1])


def _remove(
    source: Source,
    parent: MappingNode | SequenceNode,
    starts: list[int],
    index: int,
    end: int,
) -> Edit | None:
    """Remove what begins at ``starts[index]`` and whose value ends at ``end``."""
    start = starts[index]
    if _ANCHOR.search(source.text, max(start - 1, 0), end):
        return None
    following = starts[index + 1] if index + 1 < len(starts) else None
    if parent.flow:
        return _remove_flow(source, start, end, following, index > 0)
    if following is None and index == 0:
        if isinstance(parent, MappingNode) and any(
            entry.merged for entry in parent.entries.values()
        ):
            return None
        empty = "{}" if isinstance(parent, MappingNode) else "  []"
        return replacement(source, start, end, empty)
    line = source.line_starts[source.span(start, start).line - 1]
    if source.text[line:start].strip():
        return None if following is None else replacement(source, start, following, "")
    return replacement(source, line, _next_line(source, end), "")


def _remove_flow(
    source: Source, start: int, end: int, following: int | None, has_previous: bool
) -> Edit | None:
    if following is not None:
        return replacement(source, start, following, "")
    if not has_previous:
        separation = _AFTER_ITEM.match(source.text, end)
        comma = end if separation is None else separation.end()
        stop = comma + 1 if source.text.startswith(",", comma) else end
        return replacement(source, start, stop, "")
    comma = source.text.rfind(",", 0, start)
    if source.text[comma + 1 : start].strip(" \t\r\n"):
        return None
    return replacement(source, comma, end, "")


def _append_flow(
    source: Source, node: MappingNode | SequenceNode, text: str, has_items: bool
) -> Edit | None:
    at = node.end - 1
    inside = source.text[node.start + 1 : at]
    body = inside.rstrip(" \t\r\n")
    if "#" in inside:
        return None
    comma = body.endswith(",")
    lead = "" if not has_items else (" " if comma else ", ")
    end = node.start + 1 + len(body)
    tail = "," if comma else ""
    return replacement(source, end, end, f"{lead}{text}{tail}")


def _append_block(source: Source, node: MappingNode | SequenceNode, text: str) -> Edit:
    line = source.line_starts[source.span(node.start, node.start).line - 1]
    indent = " " * (node.start - line)
    at = _next_line(source, node.end)
    if at == len(source.text) and not source.text.endswith(("\n", "\r")):
        return replacement(source, at, at, f"\n{indent}{text}")
    return replacement(source, at, at, f"{indent}{text}\n")


def _next_line(source: Source, end: int) -> int:
    """The start of the line after the one on which a value ends at ``end``."""
    if end and source.text[end - 1] in "\r\n":
        return end
    rest = _REST_OF_LINE.match(source.text, end)
    stop = end if rest is None else rest.end()
    ending = _LINE_BREAK.match(source.text, stop)
    return stop if ending is None else ending.end()


def _dash_before(source: Source, start: int) -> int:
    """The offset of the ``-`` of a block item, or -1."""
    dash = source.text.rfind("-", 0, start)
    return dash if dash >= 0 and not source.text[dash + 1 : start].strip() else -1


def _with_properties(source: Source, start: int) -> int:
    """The start of a node with its anchor and tag, which stand before it on its line."""
    line = source.line_starts[source.span(start, start).line - 1]
    found = re.search(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+\Z", source.text[line:start])
    return start if found is None else line + found.start()


def _is_block(source: Source, node: Node) -> bool:
    if isinstance(node, ScalarNode):
        return node.style in ("literal", "folded")
    return not node.flow


def _double(value: str, single: str) -> str:
    """The text in double quotes where that needs no escapes, else ``single``."""
    return single if '"' in value or "\\" in value else f'"{value}"'
