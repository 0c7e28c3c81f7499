"""Located nodes to plain Python data."""

from __future__ import annotations

from policyctl.source.nodes import MappingNode, Node, ScalarNode
from policyctl.source.scalars import Scalar

Plain = Scalar | list["Plain"] | dict[str, "Plain"]


def to_plain(node: Node) -> Plain:
    """Return the value of a node as dictionaries, lists and scalars.

    The reader bounds nesting and alias expansion, so that this recursion and the size
    of its result are bounded too. Aliased nodes are copied, never shared.
    """
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, MappingNode):
        return {key: to_plain(entry.value) for key, entry in node.entries.items()}
    return [to_plain(item) for item in node.items]
