"""The names in a document: operations, queues and environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from policyctl.checks.names import check_environment, check_name, fold
from policyctl.diagnostics import Diagnostic, Related
from policyctl.model.codes import finding
from policyctl.model.place import dotted
from policyctl.source.nodes import Document, MappingNode, NodePath, ScalarNode
from policyctl.units import UnitError, quote


def check_names(document: Document) -> Iterator[Diagnostic]:
    """Yield a finding for each name that cannot be generated, or that meets another.

    Operations and queues share one module, so that they share one set of names.
    """
    seen: dict[str, tuple[str, ScalarNode]] = {}
    for kind in ("operations", "queues"):
        for name, key in _names(document, kind):
            first = seen.setdefault(fold(name), (name, key))
            if first[1] is not key:
                yield _collision(document, (kind, name), key, first)
            else:
                yield from _check(document, (kind, name), key, check_name)
    for name, key in _names(document, "environments"):
        yield from _check(document, ("environments", name), key, check_environment)


def _names(document: Document, kind: str) -> Iterator[tuple[str, ScalarNode]]:
    node = document.root.get(kind) if isinstance(document.root, MappingNode) else None
    if isinstance(node, MappingNode):
        for name, entry in node.entries.items():
            if not name.startswith("x-"):
                yield name, entry.key


def _check(
    document: Document, path: NodePath, key: ScalarNode, check: Callable[[str], None]
) -> Iterator[Diagnostic]:
    try:
        check(str(path[-1]))
    except UnitError as error:
        yield finding(
            "invalid-name",
            document.span(key),
            error.message,
            error.hint,
            policy_path=dotted(document, path),
        )


def _collision(
    document: Document, path: NodePath, key: ScalarNode, first: tuple[str, ScalarNode]
) -> Diagnostic:
    name, other = first
    same = "the same name" if name == path[-1] else "one name in generated code"
    return finding(
        "name-collision",
        document.span(key),
        f"{quote(path[-1])} and {quote(name)} are {same}",
        "rename one of them",
        related=(Related(document.span(other), "the other one"),),
        policy_path=dotted(document, path),
    )
