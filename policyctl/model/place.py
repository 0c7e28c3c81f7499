"""Paths of findings: from what the model saw to what stands in the document."""

from __future__ import annotations

from policyctl.diagnostics import Span
from policyctl.source.nodes import (
    Document,
    MappingNode,
    NodePath,
    PathPart,
    SequenceNode,
)


def real_path(document: Document, path: tuple[PathPart, ...]) -> NodePath:
    """The part of ``path`` that exists in the document.

    Parts that only the expansion of a short form has made are left out, so that the
    value of ``window: 30x`` is found at ``window`` and not at ``window.seconds``.
    """
    found: list[PathPart] = []
    node = document.root
    for part in path:
        if isinstance(node, MappingNode):
            entry = node.entries.get(str(part))
            if entry is None:
                break
            found.append(str(part))
            node = entry.value
        elif isinstance(node, SequenceNode):
            if not isinstance(part, int):
                continue
            if not 0 <= part < len(node.items):
                break
            found.append(part)
            node = node.items[part]
        else:
            break
    return tuple(found)


def key_span(document: Document, path: NodePath) -> Span:
    """The span of the key at ``path``; the document's first key for the document."""
    if not path and isinstance(document.root, MappingNode) and document.root.entries:
        return document.span(next(iter(document.root.entries.values())).key)
    return document.locate_key(path)


def dotted(document: Document, path: NodePath) -> str:
    """The policy path of a finding: the service or preset, then the keys."""
    name = subject(document)
    return ".".join([*([name] if name else ()), *map(str, path)])


def subject(document: Document) -> str:
    """The name of the document's service or preset; empty where it has none."""
    if isinstance(document.root, MappingNode):
        for key in ("service", "preset"):
            node = document.root.get(key)
            text = getattr(node, "value", None)
            if isinstance(text, str) and len(text) <= 100 and text.isprintable():
                return text
    return ""
