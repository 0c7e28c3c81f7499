"""Located nodes to the plain data that the model validates.

One walk does what needs the document rather than values: keys that begin with ``x-``
are left out, unknown keys and nulls are reported and left out, and references into
Python code are noted for the static look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from policyctl.diagnostics import Diagnostic
from policyctl.model.codes import MOST_PER_STEP, finding
from policyctl.model.forms import ALTERNATIVES, two_forms
from policyctl.model.keys import unknown_key
from policyctl.model.kinds import CLASS
from policyctl.model.place import dotted
from policyctl.model.scalars import Text
from policyctl.model.shape import Shape, leaf_marker
from policyctl.source.nodes import (
    Document,
    Entry,
    MappingNode,
    Node,
    NodePath,
    ScalarNode,
)

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A ``module:name`` in the document; ``kind`` is its check's name, or ``class``."""

    text: str
    kind: str
    path: NodePath
    node: ScalarNode


@dataclass(slots=True)
class Preparation:
    """The walk's results so far."""

    document: Document
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    references: list[Reference] = field(default_factory=list[Reference])
    reported: list[NodePath] = field(default_factory=list[NodePath])
    more: int = 0

    def block(self, node: Node, shape: Shape, path: NodePath) -> Plain:
        """The data of a block, or of whatever stands in its place."""
        if not isinstance(node, MappingNode):
            return self.value(node, shape, path)
        found: dict[str, Plain] = {}
        for name, entry in node.entries.items():
            known = shape.keys.get(name)
            value = entry.value
            if known is None:
                if not name.startswith("x-"):
                    self._unknown(entry, shape, (*path, name))
            elif known.kind == "any":
                found[name] = plain(value)
            elif isinstance(value, ScalarNode):
                if value.value is None:
                    self._null(value, known, (*path, name))
                else:
                    found[name] = value.value
                    if ":" in value.text:
                        self._refer(value, known, (*path, name))
            else:
                found[name] = self._container(value, known, (*path, name))
        if shape.model in ALTERNATIVES:
            both = two_forms(self.document, node, shape.model, path)
            if both is not None:
                self.findings.append(both)
        return found

    def _unknown(self, entry: Entry, shape: Shape, path: NodePath) -> None:
        if self._has_room():
            self.findings.append(unknown_key(self.document, entry, shape, path))

    def _has_room(self) -> bool:
        """Whether one more finding is to be made; if not, it is counted alone."""
        if len(self.findings) < MOST_PER_STEP:
            return True
        self.more += 1
        return False

    def _container(self, node: Node, shape: Shape, path: NodePath) -> Plain:
        if shape.kind == "block":
            return self.block(node, shape, path)
        item = shape.item
        if item is None:
            return self.value(node, shape, path)
        if isinstance(node, MappingNode) and shape.kind == "named":
            return self._named(node, item, path)
        if not isinstance(node, (MappingNode, ScalarNode)) and shape.kind == "blocks":
            return [self._child(n, item, (*path, i)) for i, n in enumerate(node.items)]
        return self.value(node, shape, path)

    def _named(self, node: MappingNode, item: Shape, path: NodePath) -> Plain:
        found: dict[str, Plain] = {}
        for name, entry in node.entries.items():
            if not name.startswith("x-"):
                value = self._child(entry.value, item, (*path, name))
                if value is not None:
                    found[name] = value
        return found

    def _child(self, node: Node, item: Shape, path: NodePath) -> Plain:
        if isinstance(node, ScalarNode) and node.value is None:
            self._null(node, item, path)
            return None if isinstance(path[-1], str) else {}
        return self.block(node, item, path)

    def value(self, node: Node, shape: Shape, path: NodePath) -> Plain:
        """The data of a single value or a list; nulls are reported and left out."""
        if isinstance(node, ScalarNode):
            if ":" in node.text:
                self._refer(node, shape, path)
            return node.value
        if isinstance(node, MappingNode):
            return plain(node)
        found: list[Plain] = []
        for index, item in enumerate(node.items):
            if isinstance(item, ScalarNode) and item.value is None:
                self._null(item, shape, (*path, index))
                found.append("")
            else:
                found.append(self.value(item, shape, (*path, index)))
        return found

    def _refer(self, node: ScalarNode, shape: Shape, path: NodePath) -> None:
        marker = leaf_marker(shape.marker)
        if (
            isinstance(marker, Text)
            and marker.name in _REFERENCES
            and isinstance(node.value, str)
        ):
            kind = "class" if marker is CLASS else marker.name
            self.references.append(Reference(node.value, kind, path, node))

    def _null(self, node: ScalarNode, shape: Shape, path: NodePath) -> None:
        self.reported.append(path)
        if not self._has_room():
            return
        hint = "use off, or remove the key"
        if isinstance(path[-1], int):
            hint = "remove the list item"
        elif shape.marker is None:
            hint = "write {} where it has no settings of its own, or remove the key"
        elif not shape.marker.off:
            hint = "write a value, or remove the key"
        span = self.document.span(node)
        if span.start == span.end:
            span = self.document.locate_key(path)
        name = f"`{path[-1]}`" if isinstance(path[-1], str) else f"item {path[-1] + 1}"
        self.findings.append(
            finding(
                "null-value",
                span,
                f"{name} has no value" if not node.text else f"{name} is null",
                hint,
                policy_path=dotted(self.document, path),
            )
        )


_REFERENCES = frozenset({"invalid-callable", "invalid-exception"})


def plain(node: Node) -> Plain:
    """Every value below a node, nulls included."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, MappingNode):
        return {name: plain(entry.value) for name, entry in node.entries.items()}
    return [plain(item) for item in node.items]
