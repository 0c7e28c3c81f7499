"""Objects that are called like functions: what their annotation or class says of it.

Such are the methods of a gRPC stub (``SayHello: UnaryUnaryMultiCallable[A, B]``), values
annotated as ``Callable[[A], B]``, and instances of classes with ``__call__``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from policyctl.model.code.classes import Lineage
from policyctl.model.code.library import Library
from policyctl.model.code.names import Context, elements, is_typing, parsed, resolve
from policyctl.model.code.results import object_of
from policyctl.model.code.scope import FunctionNode

_AROUND = ("ClassVar", "Final", "Annotated")


def called_object(
    library: Library, context: Context, node: ast.AST
) -> tuple[list[FunctionNode], Context] | None:
    """The definitions of what a value does when it is called, with their place.

    Their first parameter is ``self``. None where neither annotation nor class tells it.
    """
    if isinstance(node, ast.AnnAssign):
        annotation = parsed(node.annotation)
        while isinstance(annotation, ast.Subscript) and is_typing(
            resolve(library, context, annotation.value), *_AROUND
        ):
            annotation = parsed(elements(annotation.slice)[0])
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        annotation = node.value.func
    else:
        return None
    plain = _from_callable(library, context, annotation)
    if plain is not None:
        return [plain], context
    found = object_of(library, context, annotation)
    member = None if found is None else found.lineage.member(library, "__call__")
    if member is None:
        return None
    nodes = [n for n in member.binding.nodes if isinstance(n, FunctionNode)]
    return (nodes, member.context) if nodes else None


def set_when_made(
    library: Library, lineage: Lineage, name: str
) -> tuple[ast.AnnAssign | ast.Assign, Context] | None:
    """Where ``__init__`` sets an attribute of the object, if it does."""
    for ancestor in lineage.ancestors:
        owner, home = ancestor.symbol.class_node, ancestor.context.home
        if owner is None:
            continue
        binding = library.body(owner, home).names.get("__init__")
        node = binding.nodes[-1] if binding is not None and binding.nodes else None
        for inner in ast.walk(node) if isinstance(node, FunctionNode) else ():
            targets: Sequence[ast.expr]
            if isinstance(inner, ast.AnnAssign):
                targets = [inner.target]
            elif isinstance(inner, ast.Assign):
                targets = inner.targets
            else:
                continue
            if any(_is_own(target, name) for target in targets):
                return inner, ancestor.context
    return None


def _is_own(target: ast.expr, name: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def without_first(node: FunctionNode) -> FunctionNode:
    """A definition without its first parameter, which is ``self``."""
    changed, given = copy.copy(node), copy.copy(node.args)
    if given.posonlyargs:
        given.posonlyargs = given.posonlyargs[1:]
    else:
        given.args = given.args[1:]
    left = len(given.posonlyargs) + len(given.args)
    given.defaults = given.defaults[max(0, len(given.defaults) - left) :]
    changed.args = given
    return changed


def _from_callable(
    library: Library, context: Context, annotation: ast.expr | None
) -> FunctionNode | None:
    """``Callable[[A], B]`` as a definition; None for anything else."""
    if not isinstance(annotation, ast.Subscript):
        return None
    head = resolve(library, context, annotation.value)
    if head is None or head.name != "Callable" or head.kind != "opaque":
        return None
    items = elements(annotation.slice)
    if len(items) != 2:
        return None
    taken, returned = items
    text = "def called(self, *args, **kwargs): ..."
    types: list[ast.expr] = []
    if isinstance(taken, ast.List):
        types = taken.elts
        names = "".join(f", value_{number}" for number in range(1, len(types) + 1))
        text = f"def called(self{names}, /): ..."
    elif not (isinstance(taken, ast.Constant) and taken.value is ...):
        return None
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    for argument, annotated in zip(node.args.posonlyargs[1:], types, strict=True):
        argument.annotation = annotated
    node.returns = returned
    return node
