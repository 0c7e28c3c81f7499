"""What a name in an annotation stands for, in the place where it is written."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from policyctl.model.code.library import Library, Module, Symbol
from policyctl.model.code.scope import FunctionNode, last_name

Key = tuple[str, str]
_TYPING = ("typing", "typing_extensions")
_ALIASES = 10
_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")


@dataclass(frozen=True, slots=True)
class Context:
    """A place in code.

    Attributes:
        home: the module.
        owner: the class whose body it is in.
        types: what the type parameters of that class are there, by their keys.
        function: the function whose signature it is in.
    """

    home: Module
    owner: Symbol | None = None
    types: Mapping[Key, Typed] = field(default_factory=dict[Key, "Typed"])
    function: FunctionNode | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression of a type, with the place where it is written."""

    node: ast.expr
    context: Context


def resolve(library: Library, context: Context, node: ast.expr) -> Symbol | None:
    """What a name or dotted name stands for; None for anything else, or unknown."""
    if isinstance(node, ast.Attribute):
        owner = resolve(library, context, node.value)
        return None if owner is None else library.attribute(owner, node.attr)
    if not isinstance(node, ast.Name):
        return None
    name, home, owner = node.id, context.home, context.owner
    if context.function is not None and name in type_parameters(context.function):
        scope = f"{owner.name}." if owner is not None else ""
        where = f"{scope}{context.function.name}"
        return written_parameter(home, where, context.function, name)
    if owner is not None and owner.class_node is not None:
        if name in type_parameters(owner.class_node):
            return written_parameter(home, owner.name, owner.class_node, name)
        binding = library.body(owner.class_node, home).names.get(name)
        if binding is not None and binding.kind != "function":
            return library.attribute(owner, name)
    found = library.member(home.name, name)
    if found is None and hasattr(builtins, name):
        return Symbol("builtins", name, "opaque")
    return found


def as_class(library: Library, symbol: Symbol | None) -> Symbol | None:
    """The class that a symbol is, or is another name of; None for anything else."""
    for _ in range(_ALIASES):
        if symbol is None or symbol.home is None:
            return None
        if symbol.class_node is not None:
            return symbol
        node = symbol.nodes[-1] if symbol.nodes else None
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign) or not isinstance(value, ast.expr):
            return None
        symbol = resolve(library, Context(symbol.home), value)
    return None


def type_parameters(node: ast.ClassDef | FunctionNode) -> dict[str, ast.AST]:
    """The type parameters written in brackets after a class or function, by name."""
    found = cast("list[Any]", getattr(node, "type_params", []))
    return {parameter.name: parameter for parameter in found}


def written_parameter(
    home: Module, where: str, node: ast.ClassDef | FunctionNode, name: str
) -> Symbol:
    """The type parameter ``name`` that a class or function has in brackets."""
    written = type_parameters(node)[name]
    return Symbol(home.name, f"{where}[{name}]", "parameter", (written,), home)


def parameter_kind(symbol: Symbol) -> str:
    """``TypeVar``, ``ParamSpec`` or ``TypeVarTuple``, of a type variable."""
    call = parameter_call(symbol)
    if call is not None:
        return last_name(call.func)
    written = symbol.kind == "parameter" and symbol.nodes
    return type(symbol.nodes[-1]).__name__ if written else "TypeVar"


def parameter_call(symbol: Symbol) -> ast.Call | None:
    """The call that makes a type variable, where a symbol is one."""
    node = symbol.nodes[-1] if symbol.nodes else None
    value = getattr(node, "value", None)
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Call):
        return value if last_name(value.func) in _PARAMETERS else None
    return None


def is_parameter(symbol: Symbol) -> bool:
    """Whether a symbol is a type variable of any kind."""
    return (
        symbol.kind == "parameter"
        or parameter_call(symbol) is not None
        or is_typing(symbol, "AnyStr")
    )


def is_typing(symbol: Symbol | None, *names: str) -> bool:
    """Whether a symbol is one of ``names`` of ``typing`` or ``typing_extensions``."""
    return symbol is not None and symbol.module in _TYPING and symbol.name in names


def parsed(node: ast.expr) -> ast.expr | None:
    """The expression inside a string annotation, or the node itself.

    None where the string is no expression.
    """
    while isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return node


def elements(node: ast.expr) -> list[ast.expr]:
    """What stands in the brackets of a subscript."""
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def parameters_in(
    library: Library, context: Context, node: ast.AST
) -> Iterator[Symbol]:
    """The type variables in an expression, in order, repeated ones too."""
    for inner in walk_in_order(node):
        if isinstance(inner, (ast.Name, ast.Attribute)):
            found = resolve(library, context, inner)
            if found is not None and is_parameter(found):
                yield found


def walk_in_order(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all inside it in the order of the text, strings parsed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        inner = parsed(node)
        if inner is not None:
            yield from walk_in_order(inner)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from walk_in_order(child)
