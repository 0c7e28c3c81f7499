"""The located document: what the reader builds and every later step points into."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from policyctl.diagnostics import Span

PathPart = str | int
NodePath = tuple[PathPart, ...]
_Place = tuple[tuple[int, int], tuple[int, int]]
"""Start and end of a value as a reader looks for it, and of its key."""


@dataclass(slots=True)
class Source:
    """One file's decoded text and what is needed to turn offsets into places."""

    path: str
    text: str
    has_bom: bool = False
    line_starts: list[int] = field(default_factory=lambda: [0])
    hidden: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Quoted and block scalars that hold a ``#``, which starts no comment there."""

    @property
    def newline(self) -> str:
        """The line break that the file uses: that of its first line, ``\\n`` if none."""
        if len(self.line_starts) < 2:
            return "\n"
        end = self.line_starts[1]
        if self.text[end - 2 : end] == "\r\n":
            return "\r\n"
        return self.text[end - 1]

    def line_text(self, line: int) -> str:
        """Line ``line`` (from 1) without its break; empty past the end."""
        if not 1 <= line <= len(self.line_starts):
            return ""
        stop = (
            self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        )
        return self.text[self.line_starts[line - 1] : stop].rstrip("\r\n")

    def span(self, start: int, end: int) -> Span:
        """The span of the characters ``start`` to ``end`` (exclusive)."""
        line = bisect_right(self.line_starts, start)
        end_line = bisect_right(self.line_starts, end)
        return Span(
            self.path,
            line,
            start - self.line_starts[line - 1] + 1,
            end_line,
            end - self.line_starts[end_line - 1] + 1,
            start,
            end,
        )


@dataclass(slots=True, eq=False)
class ScalarNode:
    """A scalar: the value by the YAML 1.2 core schema, and how it was written.

    ``style`` is ``plain``, ``single``, ``double``, ``literal`` or ``folded``; ``text``
    is the content as a string whatever the value's type.
    """

    start: int
    end: int
    value: str | int | float | bool | None
    text: str
    style: str = "plain"


@dataclass(slots=True, eq=False)
class Entry:
    """One key and value of a mapping; ``merged`` when it came through ``<<``.

    ``alias`` is the place of ``*name`` when the value is written as an alias: the
    value node itself lies at its anchor.
    """

    key: ScalarNode
    value: Node
    merged: bool = False
    alias: tuple[int, int] | None = None

    @property
    def extent(self) -> tuple[int, int]:
        """Start and end of the value as written under this key."""
        return self.alias or (self.value.start, self.value.end)


@dataclass(slots=True, eq=False)
class MappingNode:
    """A mapping; keys are unique strings (in NFC), in the order of the file.

    Merged entries stand where their ``<<`` stood, whose own key is gone. A block
    mapping ends where its last value ends, before the line break.
    """

    start: int
    end: int
    flow: bool = False
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def get(self, key: str) -> Node | None:
        """The value under ``key``, or None."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value


@dataclass(slots=True, eq=False)
class SequenceNode:
    """A sequence and its items in order; ``aliases`` places the items written ``*name``."""

    start: int
    end: int
    flow: bool = False
    items: list[Node] = field(default_factory=list["Node"])
    aliases: dict[int, tuple[int, int]] | None = None

    def extent(self, index: int) -> tuple[int, int]:
        """Start and end of item ``index`` as written in this sequence."""
        alias = None if self.aliases is None else self.aliases.get(index)
        item = self.items[index]
        return alias or (item.start, item.end)


Node = ScalarNode | MappingNode | SequenceNode


@dataclass(slots=True)
class Comment:
    """A comment, from its ``#`` to the end of the line."""

    start: int
    end: int
    text: str
    own_line: bool


@dataclass(slots=True)
class Document:
    """One YAML document of a file. ``index`` counts the documents of the file from 0.

    ``start`` and ``end`` are the offsets of its part of the file, comments included.
    """

    source: Source
    root: Node
    index: int = 0
    start: int = 0
    end: int = 0
    _comments: tuple[Comment, ...] | None = None
    _places: dict[NodePath, _Place] | None = None

    def release(self) -> None:
        """Let go of the nodes, which are most of a document's memory.

        The places of names that every run asks for are kept; for any other question
        the nodes are read from the text again.
        """
        if self._places is None:
            self._places = {
                path: (self._value_place(path), self._key_place(path))
                for path in _named(self.root)
            }
        del self.root

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Node:
            """The nodes of a document that let go of them."""
            if name != "root":
                raise AttributeError(name)
            from policyctl.source.reader import read

            again = read(self.source.text.encode("utf-8"), self.source.path)
            self.root = next(d for d in again.documents if d.index == self.index).root
            return self.root

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments of this document in order; found on first use."""
        if self._comments is None:
            from policyctl.source.comments import find_comments

            self._comments = find_comments(self.source, self.start, self.end)
        return self._comments

    def span(self, node: Node) -> Span:
        """The span of a node's own text."""
        return self.source.span(node.start, node.end)

    def walk(
        self, path: NodePath
    ) -> Iterator[tuple[PathPart, ScalarNode | None, Node]]:
        """Yield (part, key node if any, value node) along ``path`` as far as it exists."""
        node = self.root
        for part in path:
            if isinstance(node, MappingNode) and isinstance(part, str):
                entry = node.entries.get(part)
                if entry is None:
                    return
                node = entry.value
                yield part, entry.key, node
            elif isinstance(node, SequenceNode) and isinstance(part, int):
                if not 0 <= part < len(node.items):
                    return
                node = node.items[part]
                yield part, None, node
            else:
                return

    def locate(self, path: NodePath) -> Span:
        """The span of the value at ``path``, or of its nearest existing ancestor.

        For a block value (a mapping or sequence in block style) and for an empty one the
        span of its key is returned, since that is the place a reader looks for.
        """
        places = self._places
        if places is not None and path in places:
            return self.source.span(*places[path][0])
        return self.source.span(*self._value_place(path))

    def locate_key(self, path: NodePath) -> Span:
        """The span of the key at ``path`` (of the item for a sequence index)."""
        places = self._places
        if places is not None and path in places:
            return self.source.span(*places[path][1])
        return self.source.span(*self._key_place(path))

    def _value_place(self, path: NodePath) -> tuple[int, int]:
        found_key: ScalarNode | None = None
        found: Node = self.root
        for _part, key, node in self.walk(path):
            found_key, found = key, node
        if found_key is not None:
            block = not isinstance(found, ScalarNode) and not found.flow
            if block or found.start == found.end:
                found = found_key
        return found.start, found.end

    def _key_place(self, path: NodePath) -> tuple[int, int]:
        found: Node = self.root
        for _part, key, node in self.walk(path):
            found = node if key is None else key
        return found.start, found.end


def _named(root: Node) -> Iterator[NodePath]:
    """The paths of the names in a document, which every run asks for."""
    for name, entry in root.entries.items() if isinstance(root, MappingNode) else ():
        node = entry.value
        if name in ("service", "preset"):
            yield (name,)
        elif isinstance(node, MappingNode) and name in ("operations", "queues"):
            yield from ((name, inner) for inner in node.entries)
        elif isinstance(node, SequenceNode) and name == "calls":
            yield from ((name, index, "to") for index in range(len(node.items)))
