"""Classes with their bases: what a member is, and where its names have their meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyctl.model.code.library import Library, Symbol
from policyctl.model.code.names import (
    Context,
    Key,
    Typed,
    as_class,
    elements,
    is_typing,
    parameters_in,
    resolve,
    type_parameters,
    written_parameter,
)
from policyctl.model.code.scope import Binding

_DEPTH = 40
_EMPTY_BASES = frozenset(
    {
        ("builtins", "object"),
        ("abc", "ABC"),
        *(
            (m, n)
            for m in ("typing", "typing_extensions")
            for n in ("Generic", "Protocol")
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A class of a lineage; ``context`` is its body, with its type parameters."""

    symbol: Symbol
    context: Context


@dataclass(frozen=True, slots=True)
class Member:
    """A name of a class: its definitions, and the place of the class that has it."""

    name: str
    binding: Binding
    context: Context


@dataclass(frozen=True, slots=True)
class Lineage:
    """A class and its bases in the order in which Python looks members up.

    ``complete`` unless a base cannot be read, or members are made at run time.
    """

    symbol: Symbol
    ancestors: tuple[Ancestor, ...]
    complete: bool

    def member(self, library: Library, name: str) -> Member | None:
        """A member by its name, inherited ones too."""
        for ancestor in self.ancestors:
            node = ancestor.symbol.class_node
            if node is None:
                continue
            binding = library.body(node, ancestor.context.home).names.get(name)
            if binding is not None:
                return Member(name, binding, ancestor.context)
        return None

    def names(self, library: Library) -> Iterator[str]:
        """All names of members, the first class first, each once."""
        seen: set[str] = set()
        for ancestor in self.ancestors:
            node = ancestor.symbol.class_node
            if node is None:
                continue
            for name in library.body(node, ancestor.context.home).names:
                if name not in seen:
                    seen.add(name)
                    yield name


def lineage_of(
    library: Library, symbol: Symbol, types: Mapping[Key, Typed] | None = None
) -> Lineage:
    """The lineage of a class that was read, with what its type parameters stand for."""
    assert symbol.home is not None
    reader = _Reader(library)
    context = Context(symbol.home, symbol, types or {})
    order = reader.linearise(symbol, context, _DEPTH)
    dynamic = any(
        a.symbol.class_node is not None
        and {"__getattr__", "__getattribute__"}
        & library.body(a.symbol.class_node, a.context.home).names.keys()
        for a in order
    )
    return Lineage(symbol, tuple(order), reader.complete and not dynamic)


def own_parameters(library: Library, context: Context) -> list[Symbol]:
    """The type parameters of the class that ``context`` is the body of, in order."""
    owner = context.owner
    node = None if owner is None else owner.class_node
    if node is None or owner is None:
        return []
    written = type_parameters(node)
    if written:
        home = context.home
        return [written_parameter(home, owner.name, node, name) for name in written]
    outside = Context(context.home)
    everywhere: dict[Key, Symbol] = {}
    for base in node.bases:
        if not isinstance(base, ast.Subscript):
            continue
        found = {s.key: s for s in parameters_in(library, outside, base.slice)}
        if is_typing(resolve(library, outside, base.value), "Generic", "Protocol"):
            return list(found.values())
        everywhere |= {key: s for key, s in found.items() if key not in everywhere}
    return list(everywhere.values())


class _Reader:
    def __init__(self, library: Library) -> None:
        self.library = library
        self.complete = True

    def linearise(self, symbol: Symbol, context: Context, depth: int) -> list[Ancestor]:
        """The method resolution order; depth first where there is none."""
        own = Ancestor(symbol, context)
        if depth <= 0:
            self.complete = False
            return [own]
        bases = list(self._bases(symbol, context))
        orders = [self.linearise(b.symbol, b.context, depth - 1) for b in bases]
        return [own, *_merge([*orders, bases])]

    def _bases(self, symbol: Symbol, context: Context) -> Iterator[Ancestor]:
        node = symbol.class_node
        assert node is not None
        outside = self._around(symbol, context)
        for base in node.bases:
            arguments: list[ast.expr] = []
            name = base
            if isinstance(base, ast.Subscript):
                name, arguments = base.value, elements(base.slice)
            base_symbol = resolve(self.library, outside, name)
            found = as_class(self.library, base_symbol)
            if found is None or found.home is None:
                if base_symbol is None or base_symbol.key not in _EMPTY_BASES:
                    self.complete = False
                continue
            inner = Context(found.home, found)
            parameters = own_parameters(self.library, inner)
            types = {
                parameter.key: Typed(argument, outside)
                for parameter, argument in zip(parameters, arguments, strict=False)
            }
            yield Ancestor(found, Context(found.home, found, types))

    def _around(self, symbol: Symbol, context: Context) -> Context:
        """The place where the bases of a class are written.

        Its own type parameters have their meaning there, the names of its body do not.
        """
        node = symbol.class_node
        if node is not None and type_parameters(node):
            return context
        outer = symbol.name.rpartition(".")[0]
        owner = self.library.find(symbol.module, outer) if outer else None
        return Context(context.home, owner, context.types)


def _merge(orders: list[list[Ancestor]]) -> list[Ancestor]:
    """C3: the first head that is in no other tail, again and again."""
    merged: list[Ancestor] = []
    left: list[list[Ancestor]] = [list(order) for order in orders if order]
    while left:
        head = next(
            (o[0] for o in left if not _in_a_tail(o[0], left)),
            left[0][0],
        )
        merged.append(head)
        left = [_without(order, head) for order in left]
        left = [order for order in left if order]
    return merged


def _without(order: list[Ancestor], head: Ancestor) -> list[Ancestor]:
    return [a for a in order if a.symbol.key != head.symbol.key]


def _in_a_tail(ancestor: Ancestor, orders: list[list[Ancestor]]) -> bool:
    key = ancestor.symbol.key
    return any(key == other.symbol.key for order in orders for other in order[1:])
