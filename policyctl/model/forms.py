"""Alternatives of which one layer may state one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from policyctl.diagnostics import Diagnostic, Related
from policyctl.model.codes import finding
from policyctl.model.place import dotted
from policyctl.source.nodes import Document, MappingNode, Node, NodePath, SequenceNode

_ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "fallback": ("value", "call", "operation"),
    "forward": ("header", "argument"),
    "window": ("seconds", "calls"),
}
_OPAQUE = frozenset({"value"})


def check_forms(document: Document) -> Iterator[Diagnostic]:
    """Yield a finding for each block that states two forms of one alternative."""
    yield from _walk(document, document.root, ())


def _walk(document: Document, node: Node, path: NodePath) -> Iterator[Diagnostic]:
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from _walk(document, item, (*path, index))
        return
    if not isinstance(node, MappingNode):
        return
    for name, entry in node.entries.items():
        if name in _OPAQUE or name.startswith("x-"):
            continue
        below = (*path, name)
        if name in _ALTERNATIVES and isinstance(entry.value, MappingNode):
            yield from _two_forms(document, entry.value, below)
        yield from _walk(document, entry.value, below)


def _two_forms(
    document: Document, node: MappingNode, path: NodePath
) -> Iterator[Diagnostic]:
    stated = [
        node.entries[n] for n in _ALTERNATIVES[str(path[-1])] if n in node.entries
    ]
    stated.sort(key=lambda entry: entry.key.start)
    for first, second in combinations(stated, 2):
        names = f"{first.key.text} and {second.key.text}"
        yield finding(
            "conflicting-keys",
            document.span(second.key),
            f"{path[-1]} has both {names}",
            "keep one of them",
            related=(Related(document.span(first.key), "the other one"),),
            policy_path=dotted(document, path),
        )
        return
