"""Classes of a library whose objects are results to await, to enter or to iterate over.

A plain function may return one of them, such as a request that is sent when it is
awaited, or an iterator that fetches page after page.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from policyctl.model.code.classes import Lineage, lineage_of, own_parameters
from policyctl.model.code.library import Library, Symbol
from policyctl.model.code.names import (
    Context,
    Key,
    Typed,
    elements,
    is_typing,
    parameters_in,
    parsed,
    resolve,
)
from policyctl.model.code.scope import FunctionNode

Returned = Literal["awaitable", "stream", "async stream", "manager", "async manager"]
_METHODS: dict[str, Returned] = {
    "__await__": "awaitable",
    "__anext__": "async stream",
    "__next__": "stream",
    "__aenter__": "async manager",
    "__enter__": "manager",
    "__aiter__": "async stream",
    "__iter__": "stream",
}
"""What a method makes of its class; the first one that it has says how to use it."""


_ALIASES = 10
_DATA = ("pydantic.main", "BaseModel")
"""Its objects iterate over their own fields, which makes no stream of an answer."""


@dataclass(frozen=True, slots=True)
class Result:
    """The class of an object that a function returns, with its type arguments."""

    library: Library
    lineage: Lineage

    def method(self, name: str) -> tuple[FunctionNode, Context] | None:
        """A method, with the place of the names in its signature."""
        member = self.lineage.member(self.library, name)
        node = None if member is None else member.binding.nodes[-1]
        if member is None or not isinstance(node, FunctionNode):
            return None
        context = member.context
        return node, Context(context.home, context.owner, context.types, node)

    def kinds(self) -> Iterator[Returned]:
        """All that can be done with an object, what says most about it first."""
        is_data = any(a.symbol.key == _DATA for a in self.lineage.ancestors)
        for name, kind in _METHODS.items():
            found = None if is_data and name == "__iter__" else self.method(name)
            if found is not None and (kind != "awaitable" or self._gives_other(*found)):
                yield kind

    def _gives_other(self, node: FunctionNode, context: Context) -> bool:
        """Whether awaiting says that it gives something else than the object.

        A client that may be awaited to connect gives itself, and is no answer to a call.
        """
        given = _given(node, context)
        inner = None if given is None else parsed(given.node)
        if given is None or inner is None:
            return False
        found = resolve(self.library, given.context, inner)
        if found is None:
            return True
        return not is_typing(found, "Self") and found.key != self.lineage.symbol.key

    def item(self, kind: Returned) -> Typed | None:
        """The type of what awaiting, entering or iterating gives; None if unknown."""
        for name, made in _METHODS.items():
            found = self.method(name) if made == kind else None
            if found is not None:
                return _given(*found)
        return None


def result_of(library: Library, context: Context, node: FunctionNode) -> Result | None:
    """The class that a function returns an object of; None where it cannot be read."""
    return object_of(library, context, node.returns)


def object_of(
    library: Library, context: Context, annotation: ast.expr | None
) -> Result | None:
    """The class that an annotation stands for; None where it cannot be read."""
    head = annotation
    for _ in range(_ALIASES):
        head = None if head is None else parsed(head)
        arguments: list[ast.expr] = []
        if isinstance(head, ast.Subscript):
            arguments = elements(head.slice)
            head = head.value
        symbol = None if head is None else resolve(library, context, head)
        if symbol is None or symbol.home is None:
            return None
        if symbol.class_node is not None:
            parameters = own_parameters(library, Context(symbol.home, symbol))
            types = _bound(parameters, arguments, context)
            return Result(library, lineage_of(library, symbol, types))
        head = getattr(symbol.nodes[-1], "value", None) if symbol.nodes else None
        if head is not None:
            inner = Context(symbol.home)
            free = {p.key: p for p in parameters_in(library, inner, head)}
            types = _bound([*free.values()], arguments, context)
            context = Context(symbol.home, types=types)
    return None


def _bound(
    parameters: list[Symbol], arguments: list[ast.expr], context: Context
) -> dict[Key, Typed]:
    """What type parameters stand for, by the arguments in the place of their class."""
    return {
        parameter.key: Typed(argument, context)
        for parameter, argument in zip(parameters, arguments, strict=False)
    }


def _given(node: FunctionNode, context: Context) -> Typed | None:
    """What a method says that it gives in the end."""
    returned = None if node.returns is None else parsed(node.returns)
    if returned is None:
        return None
    wraps = node.name in ("__await__", "__aiter__", "__iter__")
    if not wraps and (node.name in ("__next__", "__enter__") or _is_async(node)):
        return Typed(returned, context)
    if not isinstance(returned, ast.Subscript):
        return None
    items = elements(returned.slice)
    return Typed(items[0 if "iter" in node.name else -1], context)


def _is_async(node: FunctionNode) -> bool:
    return isinstance(node, ast.AsyncFunctionDef)
