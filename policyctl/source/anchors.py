"""Anchors and aliases of one document: shared nodes with bounded expansion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from policyctl.source import problems
from policyctl.source.limits import Limits
from policyctl.source.nodes import MappingNode, Node, ScalarNode, SequenceNode, Source
from policyctl.source.problems import StopReading

_PROPERTY = re.compile(r"&[^\s,\[\]{}]+|!<[^>\s]*>|![^\s,\[\]{}]*")
_SEPARATION = re.compile(r"(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*")


def skip_properties(text: str, start: int) -> int:
    """The offset of a node's own text, after the anchor and tag at ``start``."""
    while (found := _PROPERTY.match(text, start)) is not None:
        separation = _SEPARATION.match(text, found.end())
        start = found.end() if separation is None else separation.end()
    return start


@dataclass(slots=True)
class _Anchor:
    """``weight`` counts the values in ``node``, aliases expanded; 0 while it is open."""

    node: Node
    weight: int
    opened_at: int = 0


class Anchors:
    """The anchors of the current document.

    ``expanded`` counts the values of the file that exist through aliases only;
    ``pending`` whether an anchored container is open.
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self.expanded = 0
        self._source = source
        self._limits = limits
        self._by_name: dict[str, _Anchor] = {}
        self._open: dict[int, _Anchor] = {}
        self._heights: dict[int, int] = {}

    @property
    def pending(self) -> bool:
        """Whether an anchored container is open."""
        return bool(self._open)

    def clear(self) -> None:
        """Forget all anchors: another document begins."""
        self._by_name.clear()
        self._open.clear()
        self._heights.clear()

    def define(self, name: str, node: Node, weight: int) -> None:
        """Name a complete node; a later definition replaces an earlier one."""
        self._by_name[name] = _Anchor(node, weight)

    def open(self, name: str, node: Node, count: int) -> None:
        """Name a container that begins when ``count`` values have been read."""
        anchor = _Anchor(node, 0, count)
        self._by_name[name] = self._open[id(node)] = anchor

    def close(self, node: Node, count: int) -> None:
        """Note the end of a container, if it is a named one."""
        anchor = self._open.pop(id(node), None)
        if anchor is not None:
            anchor.weight = count - anchor.opened_at + 1

    def use(self, name: str, place: tuple[int, int], depth: int) -> tuple[Node, int]:
        """Return the node of an alias at nesting ``depth``, and its weight.

        Raises:
            StopReading: there is no such anchor, the node contains this alias, or it
                would nest too deeply.
        """
        anchor = self._by_name.get(name)
        span = self._source.span(*place)
        if anchor is None:
            near = get_close_matches(name, self._by_name, 1)
            raise StopReading(problems.undefined_alias(span, name, near))
        if anchor.weight == 0:
            first = self._source.span(anchor.node.start, anchor.node.start + 1)
            raise StopReading(problems.recursive_alias(span, name, first))
        if depth + self._height(anchor.node) > self._limits.max_depth:
            raise StopReading(problems.too_deep(span, self._limits.max_depth))
        self.expanded += anchor.weight
        return anchor.node, anchor.weight

    def _height(self, root: Node) -> int:
        """Levels of containers in a complete node; each node is counted once."""
        heights = self._heights
        pending = [root]
        while pending:
            node = pending[-1]
            if isinstance(node, ScalarNode) or id(node) in heights:
                pending.pop()
                continue
            children = [c for c in _children(node) if not isinstance(c, ScalarNode)]
            missing = [child for child in children if id(child) not in heights]
            if missing:
                pending.extend(missing)
            else:
                heights[id(node)] = 1 + max(
                    (heights[id(c)] for c in children), default=0
                )
        return heights.get(id(root), 0)


def _children(node: MappingNode | SequenceNode) -> list[Node]:
    if isinstance(node, SequenceNode):
        return node.items
    return [entry.value for entry in node.entries.values()]
