"""Annotations of other people's code, written so that they mean the same in ours."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from policyctl.generate.clients.generics import missing_arguments
from policyctl.generate.clients.imports import Imports
from policyctl.generate.clients.variables import declare
from policyctl.model.code.classes import own_parameters
from policyctl.model.code.library import Library, Symbol
from policyctl.model.code.names import (
    Context,
    Key,
    elements,
    is_parameter,
    is_typing,
    parsed,
    resolve,
)

ANY = "_typing.Any"


@dataclass(slots=True)
class Annotations:
    """Prints annotations of the members of one class, or of functions.

    Attributes:
        library: where names are looked up.
        imports: collects what the module imports.
        instance: how an instance of the class is written, for ``Self``.
        own: the type parameters of the class and how the module writes them.
        selves: type variables that stand for the class in the signature at hand.
    """

    library: Library
    imports: Imports
    instance: str = ANY
    own: Mapping[Key, str] = field(default_factory=dict[Key, str])
    selves: Mapping[Key, str] = field(default_factory=dict[Key, str])

    def text(self, node: ast.expr | None, context: Context) -> str:
        """An annotation; ``Any`` where there is none or it cannot be understood."""
        return ANY if node is None else ast.unparse(self._typed(node, context))

    def _typed(self, node: ast.expr, context: Context) -> ast.expr:
        inner = parsed(node)
        if inner is None:
            return _name(ANY)
        if isinstance(inner, ast.Constant):
            return inner if inner.value in (None, ...) else _name(ANY)
        if isinstance(inner, (ast.Name, ast.Attribute)):
            return self._named(inner, context, bare=True)
        if isinstance(inner, ast.Subscript):
            return self._subscript(inner, context)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.BitOr):
            left, right = self._typed(inner.left, context), inner.right
            return ast.BinOp(left, ast.BitOr(), self._typed(right, context))
        if isinstance(inner, (ast.Tuple, ast.List)):
            items = [self._typed(item, context) for item in inner.elts]
            return type(inner)(items, ast.Load())
        if isinstance(inner, ast.Starred):
            return ast.Starred(self._typed(inner.value, context), ast.Load())
        return _name(ANY)

    def _subscript(self, node: ast.Subscript, context: Context) -> ast.expr:
        head = resolve(self.library, context, node.value)
        if is_typing(head, "Annotated"):
            return self._typed(elements(node.slice)[0], context)
        value = self._named(node.value, context, bare=False)
        if is_typing(head, "Literal"):
            items = [self._literal(item, context) for item in elements(node.slice)]
        else:
            items = [self._typed(item, context) for item in elements(node.slice)]
        inner: ast.expr = items[0]
        if len(items) == 1 and is_typing(head, "Union"):
            return inner
        if len(items) != 1 or isinstance(node.slice, ast.Tuple):
            inner = ast.Tuple(items, ast.Load())
        return ast.Subscript(value, inner, ast.Load())

    def _literal(self, node: ast.expr, context: Context) -> ast.expr:
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node, context, bare=False)
        return node

    def _named(self, node: ast.expr, context: Context, *, bare: bool) -> ast.expr:
        if isinstance(node, ast.Attribute) and node.attr in ("args", "kwargs"):
            owner = resolve(self.library, context, node.value)
            if owner is not None and is_parameter(owner):
                inner = self._typed(node.value, context)
                return ast.Attribute(inner, node.attr, ast.Load())
        found = resolve(self.library, context, node)
        if found is None:
            # As a checker sees it: a name of the module where it is written.
            dotted = ast.unparse(node)
            found = Symbol(context.home.name, dotted, "opaque")
        if is_typing(found, "Self"):
            return _name(self.instance)
        if is_parameter(found):
            return self._parameter(found, context)
        text = self.imports.name(found)
        if bare:
            text += missing_arguments(self.library, found, ANY)
        return _name(text)

    def _parameter(self, symbol: Symbol, context: Context) -> ast.expr:
        typed = context.types.get(symbol.key)
        if typed is not None:
            return self._typed(typed.node, typed.context)
        known = self.selves.get(symbol.key) or self.own.get(symbol.key)
        if known is not None:
            return _name(known)
        if any(p.key == symbol.key for p in own_parameters(self.library, context)):
            return _name(ANY)
        if symbol.kind == "parameter":
            return _name(declare(self, symbol, context))
        return _name(self.imports.name(symbol))


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())
