"""Overloads that say for which kind of ``self`` they are.

A library that shares its methods between a plain and an async client tells them apart
by the annotation of ``self``. Which of them a class has is decided here, so that the
wrapper needs no such annotation.
"""

from __future__ import annotations

import ast

from policyctl.generate.clients.annotations import Annotations
from policyctl.model.code.callables import ClassTarget, Function
from policyctl.model.code.library import Library, Symbol
from policyctl.model.code.names import (
    Context,
    Key,
    as_class,
    elements,
    is_parameter,
    parsed,
    resolve,
)
from policyctl.model.code.scope import FunctionNode


def choose(
    annotations: Annotations,
    function: Function,
    target: ClassTarget,
    wrapper: str = "",
) -> list[tuple[FunctionNode, str | None]]:
    """The overloads that the class has, each with the annotation of ``self`` to print.

    ``wrapper`` is the name of the class that is generated.
    """
    found: dict[str, tuple[FunctionNode, str | None]] = {}
    known: set[str] = set()
    for node in function.overloads:
        self_node = _self_annotation(function, node)
        context = function.within(node)
        shape = _without_self(annotations, node.args, context)
        if self_node is None:
            found.setdefault(shape, (node, None))
            continue
        if not _fits(annotations.library, context, self_node, target):
            continue
        owner = _wrapped(annotations, context, self_node, target, wrapper)
        if owner is not None:
            found[f"{owner} {shape}"] = node, owner
        elif shape not in known:
            # It says more than an overload for any kind of self.
            known.add(shape)
            found[shape] = node, None
    return list(found.values()) or [(function.overloads[0], None)]


def self_variables(
    annotations: Annotations, function: Function, node: FunctionNode
) -> dict[Key, str]:
    """The type variable that annotates ``self`` or ``cls``, with what it stands for."""
    annotation = _self_annotation(function, node)
    context = function.within(node)
    if isinstance(annotation, ast.Subscript):
        head = resolve(annotations.library, context, annotation.value)
        if head is not None and head.name in ("type", "Type"):
            annotation = parsed(elements(annotation.slice)[0])
    found = None
    if annotation is not None:
        found = resolve(annotations.library, context, annotation)
    if found is None or not is_parameter(found):
        return {}
    return {found.key: annotations.instance}


def _self_annotation(function: Function, node: FunctionNode) -> ast.expr | None:
    positional = [*node.args.posonlyargs, *node.args.args]
    if function.binding not in ("instance", "class") or not positional:
        return None
    annotation = positional[0].annotation
    return None if annotation is None else parsed(annotation)


def _without_self(
    annotations: Annotations, arguments: ast.arguments, context: Context
) -> str:
    """The parameters after the first, to tell overloads apart that differ in no other."""
    positional = [*arguments.posonlyargs, *arguments.args]
    ends = [arguments.vararg, arguments.kwarg]
    return " | ".join(
        ", ".join(
            f"{a.arg}: {annotations.text(a.annotation, context)}"
            for a in given
            if a is not None
        )
        for given in (positional[1:], arguments.kwonlyargs, ends)
    )


def _fits(
    library: Library, context: Context, annotation: ast.expr, target: ClassTarget
) -> bool:
    """Whether the class may be what ``self`` is annotated as."""
    node = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    symbol = as_class(library, resolve(library, context, node))
    if symbol is None or symbol.home is None:
        return True
    keys = {ancestor.symbol.key for ancestor in target.lineage.ancestors}
    if symbol.key in keys:
        return True
    return not _contradicts(library, symbol, target)


def _contradicts(library: Library, protocol: Symbol, target: ClassTarget) -> bool:
    """Whether a protocol has an attribute that is another literal in the class."""
    node, home = protocol.class_node, protocol.home
    assert node is not None
    assert home is not None
    for name, binding in library.body(node, home).names.items():
        wanted = _literal(binding.nodes)
        member = target.lineage.member(library, name)
        if wanted is None or member is None:
            continue
        given = _literal(member.binding.nodes)
        if given is not None and given != wanted:
            return True
    return False


def _literal(nodes: list[ast.stmt]) -> str | None:
    node = nodes[-1] if nodes else None
    if not isinstance(node, ast.AnnAssign):
        return None
    annotation = parsed(node.annotation)
    if isinstance(annotation, ast.Subscript):
        name = ast.unparse(annotation.value).rpartition(".")[2]
        return ast.dump(annotation.slice) if name == "Literal" else None
    return None


def _wrapped(
    annotations: Annotations,
    context: Context,
    annotation: ast.expr,
    target: ClassTarget,
    wrapper: str,
) -> str | None:
    """``self: Client[int]`` as the wrapper's own ``self: Wrapper[int]``."""
    if not isinstance(annotation, ast.Subscript):
        return None
    symbol = resolve(annotations.library, context, annotation.value)
    if symbol is None or symbol.key != target.symbol.key:
        return None
    items = [annotations.text(item, context) for item in elements(annotation.slice)]
    return f'"{wrapper}[{", ".join(items)}]"'
