"""The names that a module binds when it runs, from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from policyctl.model.code.newer import parse

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_UNKNOWN = ("*", "__getattr__")


def bound_names(text: str) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The names that the module binds at its top, and those of its ``__all__``.

    Whatever is below a condition counts. The first is None where names cannot be told:
    of a module with ``__getattr__``, or one that imports everything of another. The
    syntax may be that of a later Python.

    Raises:
        SyntaxError, ValueError, RecursionError: it is no Python.
    """
    found: set[str] = set()
    exported: set[str] = set()
    for node in _statements(parse(text.encode()).body):
        names = set(_names(node))
        found |= names
        value = getattr(node, "value", None)
        if "__all__" in names and isinstance(value, (ast.List, ast.Tuple)):
            items = [getattr(item, "value", None) for item in value.elts]
            exported = {item for item in items if isinstance(item, str)}
    known = found.isdisjoint(_UNKNOWN)
    return frozenset(found) if known else None, frozenset(exported)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if not isinstance(node, _DEFINITIONS):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, field, []))
            for field in ("handlers", "cases"):
                for inner in getattr(node, field, []):
                    yield from _statements(inner.body)


def _names(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [a.asname or a.name.partition(".")[0] for a in node.names]
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return []
    if isinstance(node, ast.Delete):
        return []
    if isinstance(node, ast.Match):
        return [
            name
            for inner in (i for case in node.cases for i in ast.walk(case.pattern))
            for name in (getattr(inner, "name", None), getattr(inner, "rest", None))
            if isinstance(name, str)
        ]
    parts = ast.iter_child_nodes(node)
    return [
        inner.id
        for part in parts
        if isinstance(part, (ast.expr, ast.withitem))
        for inner in ast.walk(part)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    ]
