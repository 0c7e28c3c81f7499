"""Origins of a tree, worked out when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policyctl.resolve.policy import Origin
from policyctl.resolve.tree import Block, walk
from policyctl.source.nodes import NodePath


class Origins(Mapping[str, Origin]):
    """The origins of all nodes of a tree by dotted path, blocks before their keys.

    Places are computed on access: a run that finds nothing never computes any.
    """

    __slots__ = ("_base", "_tree")

    def __init__(self, tree: Block, base: NodePath = ()):
        self._tree = tree
        self._base = base

    def __getitem__(self, path: str) -> Origin:
        parts = tuple(path.split("."))
        if self._tree.find(parts) is None:
            raise KeyError(path)
        return self._tree.origin(parts, self._base)

    def stated(self, path: str) -> bool:
        """Whether a file gives the value at a dotted path; cheaper than its origin."""
        return self._tree.stated(tuple(path.split(".")))

    def __iter__(self) -> Iterator[str]:
        return (".".join(map(str, path)) for path, _node in walk(self._tree))

    def __len__(self) -> int:
        return sum(1 for _ in walk(self._tree))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"
