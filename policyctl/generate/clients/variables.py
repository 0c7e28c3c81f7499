"""Type variables that the generated module declares itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from policyctl.generate import literals
from policyctl.model.code.library import Symbol
from policyctl.model.code.names import Context, parameter_call, parameter_kind
from policyctl.model.code.scope import last_name

if TYPE_CHECKING:
    from policyctl.generate.clients.annotations import Annotations


def declare(annotations: Annotations, symbol: Symbol, context: Context) -> str:
    """The name of a type variable of ours that is like ``symbol``.

    Bounds and constraints are strings, so that nothing is imported for them.
    """
    imports = annotations.imports
    if symbol.kind == "parameter":
        name = symbol.name.rpartition("[")[2].removesuffix("]")
        brackets = _from_brackets(annotations, symbol, context)
        return imports.variable(name, brackets)
    call = parameter_call(symbol)
    name = symbol.name.rpartition(".")[2]
    if call is None or symbol.home is None:
        return imports.variable(name, 'TypeVar, "str", "bytes"')
    return imports.variable(name, _from_call(annotations, call, Context(symbol.home)))


def _from_brackets(annotations: Annotations, symbol: Symbol, context: Context) -> str:
    kind = parameter_kind(symbol)
    bound = cast("ast.expr | None", getattr(symbol.nodes[-1], "bound", None))
    if bound is None:
        return kind
    if isinstance(bound, ast.Tuple):
        items = [_quoted(annotations, item, context) for item in bound.elts]
        return ", ".join([kind, *items])
    return f"{kind}, bound={_quoted(annotations, bound, context)}"


def _from_call(annotations: Annotations, call: ast.Call, context: Context) -> str:
    parts = [last_name(call.func)]
    parts += [_quoted(annotations, item, context) for item in call.args[1:]]
    for keyword in call.keywords:
        if keyword.arg == "bound":
            parts.append(f"bound={_quoted(annotations, keyword.value, context)}")
        elif keyword.arg in ("covariant", "contravariant"):
            parts.append(f"{keyword.arg}={ast.unparse(keyword.value)}")
    return ", ".join(parts)


def _quoted(annotations: Annotations, node: ast.expr, context: Context) -> str:
    return literals.string(annotations.text(node, context))
