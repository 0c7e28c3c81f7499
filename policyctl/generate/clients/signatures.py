"""Functions as stubs: the parameters, defaults, return type and docstring of another's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from policyctl.generate import literals
from policyctl.generate.clients.annotations import ANY, Annotations
from policyctl.generate.clients.decorators import kept_decorators
from policyctl.generate.clients.forms import Form
from policyctl.generate.clients.returned import returned_text
from policyctl.generate.docstrings import docstring_of, quoted
from policyctl.model.code.callables import Function
from policyctl.model.code.names import Context
from policyctl.model.code.scope import FunctionNode, last_name

INDENT = "    "
_SHOWN = (str, int, float, bool, bytes)
_WORD = re.compile(r"[A-Za-z_]\w*")


def stub(
    annotations: Annotations,
    function: Function,
    overloads: list[tuple[FunctionNode, str | None]],
    name: str,
    margin: str,
    form: Form = "plain",
) -> Iterator[str]:
    """The lines of a function or method called ``name``.

    ``overloads`` are the definitions to print, each with the annotation of its first
    parameter where it needs one; ``form`` is how their results are used.
    """
    documentation = _documentation(function, margin + INDENT)
    several = len(overloads) > 1
    for node, owner in overloads:
        if several:
            yield f"{margin}@_typing.overload"
        context = function.within(node)
        for decorator in kept_decorators(annotations, function, node):
            yield f"{margin}@{decorator}"
        head = _head(annotations, function, node, context, owner, name, form)
        if several or not documentation:
            yield f"{margin}{head} ..."
            continue
        yield f"{margin}{head}"
        yield from documentation
    if several:
        yield from _implementation(annotations, function, name, margin, documentation)


def _implementation(
    annotations: Annotations,
    function: Function,
    name: str,
    margin: str,
    documentation: tuple[str, ...],
) -> Iterator[str]:
    """What checkers want below overloads outside of stubs."""
    first = ""
    if function.binding in ("instance", "class"):
        first = "self, " if function.binding == "instance" else "cls, "
    if function.binding in ("class", "static", "function"):
        kind = "class" if function.binding == "class" else "static"
        yield f"{margin}@{annotations.imports.builtin(f'{kind}method')}"
    head = f"def {name}({first}*args: {ANY}, **kwargs: {ANY}) -> {ANY}:"
    head = f"{margin}{head}" if documentation else f"{margin}{head} ..."
    # mypy does not see that these take what a TypeVarTuple stands for.
    unpacks = any(_unpacks(node.args.vararg) for node in function.overloads)
    yield f"{head}  # type: ignore[misc, unused-ignore]" if unpacks else head
    yield from documentation


def _unpacks(argument: ast.arg | None) -> bool:
    """Whether ``*args`` has a type for each of them."""
    annotation = None if argument is None else argument.annotation
    if isinstance(annotation, ast.Subscript):
        return last_name(annotation.value) == "Unpack"
    return isinstance(annotation, ast.Starred)


def _head(
    annotations: Annotations,
    function: Function,
    node: FunctionNode,
    context: Context,
    owner: str | None,
    name: str,
    form: Form,
) -> str:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    if function.yields or form == "async stream":
        keyword = "def"
    parameters = ", ".join(_parameters(annotations, function, node, context, owner))
    returned = returned_text(annotations, context, node, form)
    return f"{keyword} {name}({parameters}) -> {returned}:"


def _parameters(
    annotations: Annotations,
    function: Function,
    node: FunctionNode,
    context: Context,
    owner: str | None,
) -> Iterator[str]:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    defaults += given.defaults
    bound = function.binding in ("instance", "class")
    real = _defaults_by_name(function.body)
    for index, (argument, default) in enumerate(
        zip(positional, defaults, strict=True), 1
    ):
        if bound and index == 1:
            yield argument.arg if owner is None else f"{argument.arg}: {owner}"
        else:
            default = _known(default, real.get(argument.arg))
            yield _parameter(annotations, argument, default, context)
        if index == len(given.posonlyargs):
            yield "/"
    if given.vararg is not None:
        yield f"*{_parameter(annotations, given.vararg, None, context)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        default = _known(default, real.get(argument.arg))
        yield _parameter(annotations, argument, default, context)
    if given.kwarg is not None:
        yield f"**{_parameter(annotations, given.kwarg, None, context)}"


def _defaults_by_name(node: FunctionNode) -> dict[str, ast.expr | None]:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    last = positional[len(positional) - len(given.defaults) :]
    found: dict[str, ast.expr | None] = {}
    for argument, default in zip(last, given.defaults, strict=True):
        found[argument.arg] = default
    for argument, keyword in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found[argument.arg] = keyword
    return found


def _known(default: ast.expr | None, real: ast.expr | None) -> ast.expr | None:
    """An overload may leave its default open; the definition below says it."""
    is_open = isinstance(default, ast.Constant) and default.value is ...
    return real if is_open and real is not None else default


def _parameter(
    annotations: Annotations,
    argument: ast.arg,
    default: ast.expr | None,
    context: Context,
) -> str:
    annotation = annotations.text(argument.annotation, context)
    text = f"{argument.arg}: {annotation}"
    return text if default is None else f"{text} = {_default(default, annotation)}"


def _default(node: ast.expr, annotation: str) -> str:
    """A default that says something to a reader, where its type is that of the
    parameter beyond doubt; else ``...``, which checkers take for any."""
    sign = ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = "-", node.operand
    if not isinstance(node, ast.Constant):
        return "..."
    value = node.value
    words = set(_WORD.findall(annotation))
    if value is None:
        return "None" if words & {"None", "Optional"} or annotation == ANY else "..."
    if not isinstance(value, _SHOWN) or type(value).__name__ not in words:
        return "..."
    if isinstance(value, (bool, bytes)):
        return repr(value)
    if isinstance(value, str):
        return literals.string(value)
    try:
        return sign + literals.number(value)
    except literals.UnprintableError:
        return "..."


def _documentation(function: Function, margin: str) -> tuple[str, ...]:
    found = ""
    for node in (function.body, *function.overloads):
        found = found or docstring_of(node)
    lines = quoted(docstring_lines(found, margin), margin)
    return (*lines, f"{margin}...") if lines else ()


def docstring_lines(text: str, margin: str) -> list[str]:
    """The lines of a docstring as they are, made safe; nothing for nothing."""
    lines = [
        margin + literals.text(line.expandtabs(4).rstrip(" "))
        for line in text.strip().replace("\r\n", "\n").split("\n")
    ]
    return [line.rstrip(" ") for line in lines] if text.strip() else []
