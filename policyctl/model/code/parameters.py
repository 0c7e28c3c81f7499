"""The parameters of a callable, as those who name them in a policy need them."""

from __future__ import annotations

from dataclasses import dataclass

from policyctl.model.code.callables import (
    Function,
    gives_awaitable,
    read_class,
    read_function,
    read_method,
)
from policyctl.model.code.library import Library
from policyctl.model.code.objects import set_when_made
from policyctl.model.code.scope import FunctionNode, last_name

_KNOWN = frozenset(
    [
        "staticmethod",
        "classmethod",
        "overload",
        "final",
        "override",
        "abstractmethod",
        "deprecated",
        "contextmanager",
        "asynccontextmanager",
    ]
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function or method, without ``self`` or ``cls``.

    ``open`` when it takes any keyword, or when a decorator may change its signature;
    ``is_async`` for ``async def``, and where a plain one returns what is awaited.
    """

    names: tuple[str, ...]
    open: bool
    is_async: bool


def parameters_of(library: Library, module: str, name: str) -> Parameters | None:
    """The parameters of ``module:name``; None where they cannot be told."""
    found = read_callable(library, module, name)
    return None if found is None else _parameters(library, found)


def read_callable(library: Library, module: str, name: str) -> Function | None:
    """A function, a method, or the constructor of a class."""
    owner, _, method = name.rpartition(".")
    if not owner:
        function = read_function(library, module, name)
        if function is not None:
            return function
    target = read_class(library, module, name)
    if target is not None:
        method = "__init__"
    else:
        target = read_class(library, module, owner) if owner else None
    found = None if target is None else read_method(library, target, method)
    return found if isinstance(found, Function) else None


def lacks_method(
    library: Library, module: str, path: str, name: str
) -> list[str] | None:
    """The public names of a class that certainly has no method ``name``, else None."""
    target = read_class(library, module, path)
    if target is None or not target.lineage.complete:
        return None
    if target.lineage.member(library, name) is not None:
        return None
    if set_when_made(library, target.lineage, name) is not None:
        return None
    return [n for n in target.lineage.names(library) if not n.startswith("_")]


def _parameters(library: Library, function: Function) -> Parameters:
    names: list[str] = []
    is_open = is_async = False
    for node in dict.fromkeys((*function.overloads, function.body)):
        names += _names(node)[function.binding in ("instance", "class") :]
        is_open = is_open or node.args.kwarg is not None or _is_changed(node)
        is_async = is_async or gives_awaitable(library, function.within(node), node)
    return Parameters(
        tuple(dict.fromkeys(names)), is_open, is_async or function.is_async
    )


def _names(node: FunctionNode) -> list[str]:
    given = node.args
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _is_changed(node: FunctionNode) -> bool:
    return bool({last_name(d) for d in node.decorator_list} - _KNOWN)
