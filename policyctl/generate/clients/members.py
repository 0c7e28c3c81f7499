"""Members of a target that are passed through: properties and context management."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.generate.clients.annotations import Annotations
from policyctl.generate.clients.signatures import docstring_lines
from policyctl.generate.clients.targets import CONSTRUCTOR
from policyctl.generate.docstrings import docstring_of, quoted
from policyctl.model.code.callables import (
    ClassTarget,
    Function,
    Property,
    read_method,
)
from policyctl.model.code.library import Library
from policyctl.model.code.names import Context, is_typing, parsed, resolve
from policyctl.model.code.scope import FunctionNode

INDENT = "    "
_MARGIN = INDENT * 2
_CONTEXTS = {
    "sync": ("__enter__", "__exit__"),
    "async": ("__aenter__", "__aexit__"),
}


def properties(library: Library, target: ClassTarget) -> list[Property]:
    """The public properties of a class, in the order of its source."""
    found: list[Property] = []
    for name in target.lineage.names(library):
        if name.startswith("_") or name == CONSTRUCTOR:
            continue
        member = read_method(library, target, name)
        if isinstance(member, Property):
            found.append(member)
    return found


def property_stubs(annotations: Annotations, found: Property) -> Iterator[str]:
    """The lines of a property, and of what sets it."""
    context = _within(found.context, found.getter)
    returned = annotations.text(found.getter.returns, context)
    yield f"{_MARGIN}@{annotations.imports.builtin('property')}"
    yield from _defined(f"{found.name}(self) -> {returned}", found.getter)
    if found.setter is not None:
        value = found.setter.args.args[-1]
        annotation = annotations.text(value.annotation, context)
        yield ""
        yield f"{_MARGIN}@{found.name}.setter"
        yield from _defined(f"{found.name}(self, value: {annotation}) -> None", None)


def context_kinds(annotations: Annotations, target: ClassTarget) -> tuple[str, ...]:
    """How the class is a context manager that gives itself: ``sync``, ``async``."""
    found: list[str] = []
    for kind, (enter, leave) in _CONTEXTS.items():
        entered = read_method(annotations.library, target, enter)
        left = read_method(annotations.library, target, leave)
        if (
            isinstance(entered, Function)
            and isinstance(left, Function)
            and _gives_itself(annotations.library, target, entered)
        ):
            found.append(kind)
    return tuple(found)


def context_stubs(
    annotations: Annotations, target: ClassTarget, kind: str
) -> Iterator[str]:
    """The lines of ``__enter__`` and ``__exit__``, or of their async forms."""
    enter, leave = _CONTEXTS[kind]
    keyword = "async def" if kind == "async" else "def"
    yield f"{_MARGIN}{keyword} {enter}(self) -> _typing.Self: ..."
    yield ""
    left = read_method(annotations.library, target, leave)
    returned = "None"
    if isinstance(left, Function):
        returned = annotations.text(left.body.returns, left.within(left.body))
    yield f"{_MARGIN}{keyword} {leave}(self, *error: _typing.Any) -> {returned}: ..."


def _gives_itself(library: Library, target: ClassTarget, entered: Function) -> bool:
    """Whether entering says that it gives the client itself."""
    node = entered.body
    returned = None if node.returns is None else parsed(node.returns)
    if returned is None:
        return False
    context = entered.within(node)
    symbol = resolve(library, context, returned)
    if symbol is None:
        return False
    if is_typing(symbol, "Self") or symbol.key == target.symbol.key:
        return True
    first = [*node.args.posonlyargs, *node.args.args][0]
    given = None if first.annotation is None else parsed(first.annotation)
    own = None if given is None else resolve(library, context, given)
    return own is not None and own.key == symbol.key


def _within(context: Context, node: FunctionNode) -> Context:
    return Context(context.home, context.owner, context.types, node)


def _defined(head: str, documented: FunctionNode | None) -> Iterator[str]:
    text = "" if documented is None else docstring_of(documented)
    margin = _MARGIN + INDENT
    documentation = quoted(docstring_lines(text, margin), margin)
    if documentation:
        yield f"{_MARGIN}def {head}:"
        yield from documentation
        yield f"{margin}..."
    else:
        yield f"{_MARGIN}def {head}: ..."
