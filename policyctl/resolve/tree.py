"""Settings on their way to resolution: nested blocks whose leaves know their layer.

Trees are never changed in place, so a preset wrapped once is shared by every
operation that extends it, and merging copies only the blocks it touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from policyctl.diagnostics import Span
from policyctl.resolve.policy import Origin, OriginKind
from policyctl.source.nodes import Document, NodePath

OFF: Final = "off"

# Mappings that are one value: a fallback's value is user data, and a jitter's two
# fields make sense only together.
_OPAQUE: Final = frozenset(
    {("fallback", "value"), ("backoff", "jitter"), ("redelivery", "jitter")}
)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One part of one document that contributes settings.

    ``prefix`` is the node path of that part, so that the place of a setting is the
    prefix followed by the setting's own path. ``name`` is the preset's or the
    environment's name. A layer without a document holds built-in defaults.
    """

    kind: OriginKind
    document: Document | None = None
    prefix: NodePath = ()
    name: str = ""

    def origin(self, path: NodePath, *, key: bool = False) -> Origin:
        """Where the setting at ``path`` below this layer comes from.

        The place is that of its value, or with ``key`` that of its key.
        """
        span = self.span(path, key=key)
        if span is None:
            return BUILT_IN
        label = str(span) if self.kind == "document" else f"{self.kind} {self.name}"
        return Origin(self.kind, label, span)

    def span(self, path: NodePath, *, key: bool = False) -> Span | None:
        """The place of the setting at ``path``; None for built-in defaults."""
        if self.document is None:
            return None
        locate = self.document.locate_key if key else self.document.locate
        return locate((*self.prefix, *path))


BUILT_IN: Final = Origin("default", "built-in default")
DEFAULT: Final = Layer("default")


# Leaves and blocks are never changed once made. They are not declared frozen, since that
# makes their construction three times slower, and a run makes them by the hundred thousand.
@dataclass(slots=True, unsafe_hash=True)
class Leaf:
    """A scalar, a list or the word ``off``, and the layer that set it."""

    value: Any
    layer: Layer = DEFAULT

    @property
    def off(self) -> bool:
        """Whether the setting is switched off."""
        return bool(self.value == OFF)


@dataclass(slots=True, unsafe_hash=True)
class Block:
    """A mapping of settings; ``layer`` is the last one that mentioned it."""

    entries: Mapping[str, Node]
    layer: Layer = DEFAULT

    def get(self, key: str) -> Any:
        """The value of a leaf; None where it is absent, off, or a block."""
        node = self.entries.get(key)
        if type(node) is not Leaf:
            return None
        value = node.value
        return None if type(value) is str and value == OFF else value

    def block(self, key: str) -> Block | None:
        """The block under ``key``; None where it is absent, off, or a leaf."""
        node = self.entries.get(key)
        return node if type(node) is Block else None

    def stated(self, path: NodePath) -> bool:
        """Whether a file, not a built-in default, gives the value at ``path``."""
        node = self.find(path)
        return node is not None and node.layer.kind != "default"

    def has(self, key: str) -> bool:
        """Whether ``key`` is present and not off."""
        node = self.entries.get(key)
        return node is not None and not (type(node) is Leaf and node.off)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of words as a tuple; empty where it is absent or off."""
        value = self.get(key)
        return () if value is None else tuple(value)

    def find(self, path: NodePath) -> Node | None:
        """The node at ``path``, or None."""
        node: Node = self
        for part in path:
            found = node.entries.get(str(part)) if type(node) is Block else None
            if found is None:
                return None
            node = found
        return node

    def origin(self, path: NodePath, base: NodePath = ()) -> Origin:
        """Where the node at ``path`` comes from; for an absent one, its parent.

        The place of a leaf is its value, or the part of it that the rest of ``path``
        leads to; that of a block is its key. ``base`` is the path of this block below
        the layers' own prefixes.
        """
        for length in range(len(path), 0, -1):
            node = self.find(path[:length])
            if node is not None:
                if isinstance(node, Leaf):
                    return node.layer.origin((*base, *path))
                return node.layer.origin((*base, *path[:length]), key=True)
        return self.layer.origin(base, key=True)


Node = Leaf | Block
EMPTY: Final = Block({})


def wrap(data: Mapping[str, Any], layer: Layer, name: str = "") -> Block:
    """Turn a long-form dictionary into a tree whose leaves all point to ``layer``."""
    entries: dict[str, Node] = {}
    for key, value in data.items():
        if isinstance(value, dict) and (name, key) not in _OPAQUE:
            entries[key] = wrap(cast(Mapping[str, Any], value), layer, key)
        else:
            entries[key] = Leaf(value, layer)
    return Block(entries, layer)


def plain(node: Node) -> Any:
    """Return the tree as nested dictionaries, without layers."""
    if isinstance(node, Leaf):
        return node.value
    return {key: plain(child) for key, child in node.entries.items()}


def walk(block: Block, path: NodePath = ()) -> Iterator[tuple[NodePath, Node]]:
    """Yield every node below ``block`` with its path, parents before children."""
    for key, node in block.entries.items():
        here = (*path, key)
        yield here, node
        if isinstance(node, Block):
            yield from walk(node, here)
