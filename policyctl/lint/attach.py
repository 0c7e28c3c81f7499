"""Which node of a document a comment speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policyctl.diagnostics import Span
from policyctl.source.nodes import Comment, Document, MappingNode, Node, SequenceNode


@dataclass(frozen=True, slots=True)
class Anchor:
    """A node with its key: its dotted path in the document, and its characters."""

    file: str
    path: str
    start: int
    end: int

    def holds(self, span: Span) -> bool:
        """Whether ``span`` lies inside."""
        inside = self.start <= span.start and span.end <= self.end
        return span.path == self.file and inside


def anchor_of(document: Document, comment: Comment) -> Anchor | None:
    """The outermost node that begins on the comment's line, or that it stands above.

    A comment on its own line speaks of the next line that is no comment; after the last
    line of a value written over several lines, a comment speaks of that value.
    """
    line = document.source.span(comment.start, comment.end).line
    if not comment.own_line:
        return _starting(document, line) or _ending(document, line)
    others = {
        document.source.span(other.start, other.end).line
        for other in document.comments
        if other.own_line
    }
    while line in others:
        line += 1
    return _starting(document, line)


def _starting(document: Document, line: int) -> Anchor | None:
    first, last = _line_range(document, line)
    for path, start, end in _nodes(document):
        if first <= start < last:
            return Anchor(document.source.path, path, start, end)
    return None


def _ending(document: Document, line: int) -> Anchor | None:
    first, last = _line_range(document, line)
    for path, start, end in _nodes(document):
        if first < end < last and start < first:
            return Anchor(document.source.path, path, start, end)
    return None


def _line_range(document: Document, line: int) -> tuple[int, int]:
    starts = document.source.line_starts
    if line > len(starts):
        return (0, 0)
    last = len(document.source.text) + 1 if line == len(starts) else starts[line]
    return starts[line - 1], last


def _nodes(document: Document) -> Iterator[tuple[str, int, int]]:
    """Dotted path, start (of the key) and end of every node, outermost first."""
    todo: list[tuple[str, Node]] = [("", document.root)]
    for prefix, node in todo:
        for key, start, value in _children(node):
            path = f"{prefix}.{key}" if prefix else key
            yield path, start, value.end
            todo.append((path, value))


def _children(node: Node) -> Iterator[tuple[str, int, Node]]:
    if isinstance(node, MappingNode):
        for key, entry in node.entries.items():
            if not entry.merged:
                yield key, entry.key.start, entry.value
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield str(index), item.start, item
