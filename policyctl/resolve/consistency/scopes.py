"""Operations that share one breaker or bulkhead must configure it alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.findings import Subject
from policyctl.resolve.tree import Block, plain
from policyctl.source.nodes import NodePath

_SHARED = ("circuit_breaker", "bulkhead")


def check(operations: Mapping[str, Subject]) -> Iterator[Diagnostic]:
    """Find blocks of ``scope: service`` that differ from the service's first one."""
    for kind in _SHARED:
        first: Subject | None = None
        for subject in operations.values():
            block = subject.tree.block(kind)
            if block is None or block.get("scope") != "service":
                continue
            first = first or subject
            if first is not subject:
                yield from _compare(kind, first, subject)


def _compare(kind: str, first: Subject, subject: Subject) -> Iterator[Diagnostic]:
    one, other = first.tree.block(kind), subject.tree.block(kind)
    if one is None or other is None:
        return
    difference = _difference(one, other)
    if difference is None:
        return
    at = (kind, *difference)
    name = first.path.rpartition(".")[2]
    key = ".".join(map(str, difference))
    yield subject.error(
        "VA121",
        f"{kind} is shared by the service, but {key} differs from operation {name}",
        at,
        help=f"give {key} once, under defaults, or write scope: operation",
        related=[first.related(at, f"{key} in operation {name}")],
    )


def _difference(one: Block, other: Block, path: NodePath = ()) -> NodePath | None:
    """The path of the first key in which two blocks differ."""
    for key in (*one.entries, *other.entries):
        left, right = one.entries.get(key), other.entries.get(key)
        if isinstance(left, Block) and isinstance(right, Block):
            inner = _difference(left, right, (*path, key))
            if inner is not None:
                return inner
        elif left is None or right is None or plain(left) != plain(right):
            return (*path, key)
    return None
