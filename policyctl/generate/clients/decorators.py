"""Decorators of a target's method: those that change its type are written down too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from policyctl.model.code.callables import Function
from policyctl.model.code.library import Symbol
from policyctl.model.code.names import Context, parsed, resolve
from policyctl.model.code.scope import FunctionNode, last_name

if TYPE_CHECKING:
    from policyctl.generate.clients.annotations import Annotations

_MANAGERS = ("contextmanager", "asynccontextmanager")
_STANDARD = ("classmethod", "staticmethod")


def kept_decorators(
    annotations: Annotations, function: Function, node: FunctionNode
) -> Iterator[str]:
    """The decorators to print above a stub, outermost first."""
    if function.binding == "function":
        yield annotations.imports.builtin("staticmethod")
    for decorator in node.decorator_list:
        name = last_name(decorator)
        if name in _STANDARD:
            yield annotations.imports.builtin(name)
            continue
        outside = Context(function.context.home, function.context.owner)
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        found = resolve(annotations.library, outside, called)
        if found is None:
            continue
        if (name in _MANAGERS and found.module == "contextlib") or (
            not isinstance(decorator, ast.Call) and _changes_type(found)
        ):
            yield annotations.imports.name(found)


def _changes_type(symbol: Symbol) -> bool:
    """Whether a decorator says that it returns another type than it takes.

    One without annotations says nothing; most copy the signature.
    """
    node = symbol.nodes[-1] if symbol.nodes else None
    if not isinstance(node, FunctionNode) or node.returns is None:
        return False
    positional = [*node.args.posonlyargs, *node.args.args]
    if len(positional) != 1 or positional[0].annotation is None:
        return False
    taken, returned = parsed(positional[0].annotation), parsed(node.returns)
    if taken is None or returned is None:
        return False
    return ast.dump(taken) != ast.dump(returned)
