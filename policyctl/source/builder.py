"""Events to located nodes, without recursion.

A container is attached to its parent when it starts, so that the state is a stack of
open containers and nothing has to be handed back. One method serves one event class.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import yaml

from policyctl.diagnostics import Diagnostic
from policyctl.source import problems, quotes
from policyctl.source.anchors import Anchors, skip_properties
from policyctl.source.decode import OFFSETS
from policyctl.source.events import AliasEvent, Event, ScalarEvent, StartEvent
from policyctl.source.limits import Limits
from policyctl.source.merge import merge
from policyctl.source.nodes import (
    Document,
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Source,
)
from policyctl.source.problems import StopReading
from policyctl.source.scalars import Scalar, resolve
from policyctl.source.tags import check_container_tag, tagged_value

_SHARED = len(OFFSETS)
_STYLES = {"'": "single", '"': "double", "|": "literal", ">": "folded"}


class Builder:
    """Builds the documents of one file; ``documents`` and ``findings`` are its result."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.documents: list[Document] = []
        self.findings: list[Diagnostic] = []
        self._limits = limits
        self._max_values = limits.max_values
        self._max_depth = limits.max_depth
        self._anchors = Anchors(source, limits)
        self._stack: list[MappingNode | SequenceNode] = []
        self._entries: dict[str, Entry] | None = None
        self._items: list[Node] | None = None
        self._key: ScalarNode | None = None
        self._name = ""
        self._root: Node | None = None
        self._end = 0
        self._count = 0
        self._document_start = 0
        self._dropped: list[tuple[dict[str, Entry], str]] = []

    def run(self, next_event: Callable[[], Any]) -> None:
        """Read all events.

        Raises:
            StopReading: what was found makes the rest of the file unreadable.
            yaml.YAMLError: the text is not YAML.
        """
        handlers: dict[type[Any], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._mapping_start,
            yaml.MappingEndEvent: self._mapping_end,
            yaml.SequenceStartEvent: self._sequence_start,
            yaml.SequenceEndEvent: self._sequence_end,
            yaml.DocumentStartEvent: self._open_document,
            yaml.DocumentEndEvent: self._close_document,
        }
        next_event()
        while (handler := handlers.get((event := next_event()).__class__)) is not None:
            handler(event)

    def _scalar(self, event: ScalarEvent) -> None:
        self._count += 1
        text = event.value
        start = event.start_mark.index
        end = event.end_mark.index
        if end < _SHARED:
            start = OFFSETS[start]
            end = OFFSETS[end]
        self._end = end
        value: Scalar = text
        style = "plain"
        if event.style:
            style = _STYLES[event.style]
        elif event.tag is None:
            try:
                value = resolve(text)
            except ValueError as error:
                self._report(problems.long_number(self.source, start, end, str(error)))
            if isinstance(value, str):
                text = value  # equal texts of all files share one string
        node = ScalarNode(start, end, value, text, style)
        if style != "plain" or event.tag is not None or event.anchor is not None:
            self._refine(node, event)
        if self._items is not None:
            self._items.append(node)
            if self._count > self._max_values:
                raise StopReading(self._too_many(start, end))
        elif self._key is not None and self._entries is not None:
            self._entries[self._name] = Entry(self._key, node)
            self._key = None
        elif self._entries is not None:
            self._take_key(node)
        else:
            self._root = node

    def _refine(self, node: ScalarNode, event: ScalarEvent) -> None:
        """What only quoted, block, tagged and anchored scalars need."""
        source = self.source
        if event.tag is not None or event.anchor is not None:
            node.start = min(skip_properties(source.text, node.start), node.end)
            if event.tag is not None:
                tagged_value(source, node, event.tag, event.start_mark.index)
            if event.anchor is not None:
                self._anchors.define(event.anchor, node, 1)
        if not node.text.isascii() and quotes.has_surrogate(node.text):
            span = source.span(node.start, node.end)
            raise StopReading(problems.half_character(span))
        if node.style in ("literal", "folded"):
            header = source.text[node.start : node.start + 3]
            if "+" not in header:
                body = source.text[node.start : node.end]
                node.end = self._end = node.start + len(body.rstrip(" \t\r\n"))
        if "#" in node.text and node.style != "plain":
            source.hidden.append((node.start, node.end))

    def _take_key(self, node: ScalarNode) -> None:
        """Make ``node`` the key whose value comes next."""
        value = node.value
        if not isinstance(value, str):
            self._report(problems.key_not_text(self.source, node))
            name = "null" if value is None else str(value).lower()
        elif value.isascii():
            name = value
        else:
            name = unicodedata.normalize("NFC", value)
        entries = self._entries
        if entries is not None and name in entries:
            first = entries[name].key
            self._report(problems.duplicate_key(self.source, node, first))
            name = f"{name}\0{node.start}"
            self._dropped.append((entries, name))
        if self._count > self._max_values:
            raise StopReading(self._too_many(node.start, node.end))
        self._name = name
        self._key = node

    def _attach(self, node: Node, alias: tuple[int, int] | None) -> None:
        """Put a container or an aliased node where the parser stands."""
        if self._count > self._max_values:
            raise StopReading(self._too_many(*(alias or (node.start, node.end))))
        if self._items is not None:
            if alias is not None:
                parent = self._stack[-1]
                assert isinstance(parent, SequenceNode)
                if parent.aliases is None:
                    parent.aliases = {}
                parent.aliases[len(self._items)] = alias
            self._items.append(node)
        elif self._entries is None:
            self._root = node
        elif self._key is not None:
            self._entries[self._name] = Entry(self._key, node, alias=alias)
            self._key = None
        elif isinstance(node, ScalarNode):
            self._take_key(node)
        else:
            raise StopReading(problems.complex_key(self.source, node))

    def _alias(self, event: AliasEvent) -> None:
        place = (event.start_mark.index, event.end_mark.index)
        self._end = place[1]
        node, weight = self._anchors.use(event.anchor, place, len(self._stack))
        self._count += weight
        self._attach(node, place)

    def _start(self, node: MappingNode | SequenceNode, event: StartEvent) -> None:
        """Open a container."""
        self._count += 1
        if event.tag is not None or event.anchor is not None:
            check_container_tag(self.source, node, event.tag)
            node.start = skip_properties(self.source.text, node.start)
            if event.anchor is not None:
                self._anchors.open(event.anchor, node, self._count)
        if len(self._stack) >= self._max_depth:
            span = self.source.span(node.start, node.start + 1)
            raise StopReading(problems.too_deep(span, self._max_depth))
        self._attach(node, None)
        self._stack.append(node)

    def _mapping_start(self, event: StartEvent) -> None:
        at = event.start_mark.index
        if at < _SHARED:
            at = OFFSETS[at]
        node = MappingNode(at, 0, bool(event.flow_style), {})
        self._start(node, event)
        self._entries = node.entries
        self._items = None

    def _sequence_start(self, event: StartEvent) -> None:
        node = SequenceNode(event.start_mark.index, 0, bool(event.flow_style), [])
        self._start(node, event)
        self._items = node.items

    def _mapping_end(self, event: Event) -> None:
        node = self._close(event)
        assert isinstance(node, MappingNode)
        written = node.entries.get("<<")
        if written is not None and written.key.style == "plain":
            self._report(*merge(self.source, node))

    def _sequence_end(self, event: Event) -> None:
        self._close(event)

    def _close(self, event: Event) -> MappingNode | SequenceNode:
        node = self._stack.pop()
        if node.flow:
            end = event.end_mark.index
            self._end = OFFSETS[end] if end < _SHARED else end
        node.end = self._end
        if self._anchors.pending:
            self._anchors.close(node, self._count)
        self._items = self._entries = None
        if self._stack:
            parent = self._stack[-1]
            if isinstance(parent, MappingNode):
                self._entries = parent.entries
            else:
                self._items = parent.items
        return node

    def _open_document(self, event: Event) -> None:
        self._anchors.clear()
        self._root = None
        if self.documents:
            self._document_start = event.start_mark.index
            self.documents[-1].end = event.start_mark.index

    def _close_document(self, event: Event) -> None:
        for entries, name in self._dropped:
            entries.pop(name, None)
        self._dropped.clear()
        root = self._root
        if root is None or (isinstance(root, ScalarNode) and root.start == root.end):
            return
        end = len(self.source.text)
        index = len(self.documents)
        self.documents.append(
            Document(self.source, root, index, self._document_start, end)
        )

    def _too_many(self, start: int, end: int) -> Diagnostic:
        span = self.source.span(start, end)
        by_alias = self._anchors.expanded > self._max_values // 2
        return problems.too_many_values(span, self._max_values, by_alias=by_alias)

    def _report(self, *findings: Diagnostic) -> None:
        self.findings.extend(findings)
        if len(self.findings) >= self._limits.max_errors:
            raise StopReading(problems.too_many_errors(self.source, self.findings[-1]))
