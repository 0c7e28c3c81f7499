"""Alternatives of which one layer may state one."""

from __future__ import annotations

from pydantic import BaseModel

from policyctl.diagnostics import Diagnostic, Related
from policyctl.model.circuit_breaker import Window
from policyctl.model.codes import finding
from policyctl.model.fallback import Fallback
from policyctl.model.idempotency import Forward
from policyctl.model.place import dotted
from policyctl.source.nodes import Document, MappingNode, NodePath

ALTERNATIVES: dict[type[BaseModel], tuple[str, ...]] = {
    Fallback: ("value", "call", "operation"),
    Forward: ("header", "argument"),
    Window: ("seconds", "calls"),
}
"""Blocks that take one of several keys."""


def two_forms(
    document: Document, node: MappingNode, model: type[BaseModel], path: NodePath
) -> Diagnostic | None:
    """The finding for a block that states two forms of one alternative."""
    names = ALTERNATIVES[model]
    stated = [node.entries[name] for name in names if name in node.entries]
    if len(stated) < 2:
        return None
    first, second = sorted(stated, key=lambda entry: entry.key.start)[:2]
    return finding(
        "conflicting-keys",
        document.span(second.key),
        f"{path[-1]} has both {first.key.text} and {second.key.text}",
        "keep one of them",
        related=(Related(document.span(first.key), "the other one"),),
        policy_path=dotted(document, path),
    )
