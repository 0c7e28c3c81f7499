"""Where in a document a setting is written, or would have to be added."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policyctl.lint.place import Place
from policyctl.resolve.policy import Origin
from policyctl.source.nodes import (
    Document,
    Entry,
    MappingNode,
    Node,
    NodePath,
    ScalarNode,
    SequenceNode,
)

_PART = re.compile(r"([^.\[\]]+)(?:\[([^\]]*)\])?(?:\.|$)")


@dataclass(frozen=True, slots=True)
class Spot:
    """How far the path of a setting exists in the document.

    Attributes:
        document: the document to edit.
        path: the whole path of the setting.
        rest: what is left of it at ``parent``, the key of ``found`` first.
        parent: the deepest mapping on the path that is written there itself.
        found: its entry for ``rest[0]``, unless the key has to be added.
        shared: whether aliases or merge keys use ``parent`` elsewhere too.
    """

    document: Document
    path: NodePath
    rest: tuple[str, ...]
    parent: MappingNode
    found: Entry | None
    shared: bool

    def own_list(self) -> SequenceNode | None:
        """The list that is written here itself, if the setting is one."""
        entry = self.found
        if entry is None or entry.alias is not None or len(self.rest) != 1:
            return None
        return entry.value if isinstance(entry.value, SequenceNode) else None

    def text_of(self, node: Node) -> str:
        """The characters of a node."""
        return self.document.source.text[node.start : node.end]


def spot_of(place: Place, at: str) -> Spot | None:
    """The spot of the setting ``at`` of ``place``; None where it cannot be edited.

    A value that the overlay of an environment gives is changed in that overlay.
    """
    if place.borrowed:
        return None
    document = place.document
    base = node_path(document, place.path)
    if base is None:
        return None
    overlay = _overlay(document, place.origin(at))
    whole = (*overlay, *base, *at.split("."))
    node: Node = document.root
    shared = _shared_nodes(document)
    is_shared = False
    for index, part in enumerate(whole):
        if isinstance(node, SequenceNode) and isinstance(part, int):
            if node.aliases and part in node.aliases:
                return None
            node = node.items[part]
            continue
        if not isinstance(node, MappingNode):
            return None
        is_shared = is_shared or id(node) in shared
        entry = node.entries.get(str(part))
        rest = tuple(map(str, whole[index:]))
        last = index + 1 == len(whole)
        if entry is not None and entry.merged:
            if not last and isinstance(entry.value, MappingNode):
                return None
            entry = None
        if entry is None and not overlay and index < len(base):
            return None
        leaf = last or entry is None or entry.alias is not None
        if leaf or isinstance(entry.value if entry else None, ScalarNode):
            used = entry is not None and entry.alias is None
            is_shared = is_shared or (
                used and entry is not None and id(entry.value) in shared
            )
            return Spot(document, whole, rest, node, entry, is_shared)
        assert entry is not None
        node = entry.value
    return None


def node_path(document: Document, path: str) -> NodePath | None:
    """The node path of a dotted policy path, whose first part is the service.

    ``calls[tax_api.compute]`` names an entry of the list by what it calls.
    """
    parts: list[str | int] = []
    position = path.find(".") + 1
    if position == 0:
        return ()
    for match in _PART.finditer(path, position):
        parts.append(match[1])
        if match[2] is not None:
            index = _index_of(document, tuple(parts), match[2])
            if index is None:
                return None
            parts.append(index)
    return tuple(parts)


def _index_of(document: Document, path: NodePath, to: str) -> int | None:
    """Which entry of the ``calls`` list at ``path`` calls ``to``."""
    steps = list(document.walk(path))
    if len(steps) < len(path):
        return None
    node = steps[-1][2]
    if not isinstance(node, SequenceNode):
        return None
    for index, item in enumerate(node.items):
        target = item.get("to") if isinstance(item, MappingNode) else None
        if isinstance(target, ScalarNode) and target.text == to:
            return index
    return None


def _overlay(document: Document, origin: Origin | None) -> NodePath:
    """The path of the environment that gives a value; empty for any other origin."""
    if origin is None or origin.kind != "environment" or origin.span is None:
        return ()
    root = document.root
    overlays = root.get("environments") if isinstance(root, MappingNode) else None
    if isinstance(overlays, MappingNode):
        for name, entry in overlays.entries.items():
            start, end = entry.extent
            if start <= origin.span.start <= end:
                return ("environments", name)
    return ()


def _shared_nodes(document: Document) -> frozenset[int]:
    """Identities of nodes that aliases or merge keys use beside their own place."""
    text = document.source.text
    if "&" not in text or "*" not in text:
        return frozenset()
    shared: set[int] = set()
    owners: dict[int, MappingNode] = {}
    merged: list[int] = []
    todo: list[Node] = [document.root]
    while todo:
        node = todo.pop()
        if isinstance(node, MappingNode):
            for entry in node.entries.values():
                if entry.merged:
                    merged.append(id(entry.value))
                elif entry.alias is not None:
                    shared.add(id(entry.value))
                else:
                    owners[id(entry.value)] = node
                    todo.append(entry.value)
        elif isinstance(node, SequenceNode):
            aliased = node.aliases or {}
            for index, item in enumerate(node.items):
                if index in aliased:
                    shared.add(id(item))
                else:
                    todo.append(item)
    for value in merged:
        owner = owners.get(value)
        if owner is not None:
            shared.add(id(owner))
    return frozenset(shared)
