"""How many type arguments a generic takes, for annotations that leave them out.

Strict checkers refuse a bare ``dict``; ``dict[Any, Any]`` says the same.
"""

from __future__ import annotations

import ast

from policyctl.model.code.classes import own_parameters
from policyctl.model.code.library import Library, Symbol
from policyctl.model.code.names import (
    Context,
    parameter_call,
    parameter_kind,
    parameters_in,
)

_ONE = [
    "list",
    "set",
    "frozenset",
    "type",
    "List",
    "Set",
    "FrozenSet",
    "Type",
    "Iterable",
    "Iterator",
    "Sequence",
    "MutableSequence",
    "Collection",
    "Container",
    "Reversible",
    "AbstractSet",
    "MutableSet",
    "Awaitable",
    "AsyncIterable",
    "AsyncIterator",
    "KeysView",
    "ValuesView",
    "ContextManager",
    "AsyncContextManager",
    "AbstractContextManager",
    "AbstractAsyncContextManager",
    "Pattern",
    "Match",
    "Deque",
    "deque",
    "Counter",
    "PathLike",
    "Future",
    "Task",
    "Queue",
    "LifoQueue",
    "PriorityQueue",
    "SimpleQueue",
    "ContextVar",
    "Token",
    "Popen",
    "CompletedProcess",
    "partial",
    "ReferenceType",
    "ref",
    "WeakSet",
    "Array",
]
_TWO = [
    "dict",
    "Dict",
    "Mapping",
    "MutableMapping",
    "ItemsView",
    "DefaultDict",
    "defaultdict",
    "OrderedDict",
    "ChainMap",
    "AsyncGenerator",
    "WeakKeyDictionary",
    "WeakValueDictionary",
    "MappingProxyType",
]
_THREE = ("Generator", "Coroutine")
_ARITY = {
    **dict.fromkeys(_ONE, 1),
    **dict.fromkeys(_TWO, 2),
    **dict.fromkeys(_THREE, 3),
}
_MODULES = frozenset(
    [
        "builtins",
        "typing",
        "typing_extensions",
        "collections",
        "collections.abc",
        "contextlib",
        "re",
        "os",
        "asyncio",
        "queue",
        "contextvars",
        "subprocess",
        "functools",
        "weakref",
        "concurrent.futures",
        "types",
        "ctypes",
    ]
)


def missing_arguments(library: Library, symbol: Symbol, anything: str) -> str:
    """The brackets that a bare generic lacks, or nothing; ``anything`` is ``Any``."""
    if symbol.kind == "opaque":
        if symbol.module not in _MODULES:
            return ""
        if symbol.name in ("tuple", "Tuple"):
            return f"[{anything}, ...]"
        if symbol.name == "Callable":
            return f"[..., {anything}]"
        count = _ARITY.get(symbol.name, 0)
        return f"[{', '.join([anything] * count)}]" if count else ""
    if symbol.home is None or symbol.kind not in ("class", "value"):
        return ""
    found = _parameters(library, symbol)
    if any(_has_default(p) or parameter_kind(p) == "TypeVarTuple" for p in found):
        return ""
    arguments = ["..." if parameter_kind(p) == "ParamSpec" else anything for p in found]
    return f"[{', '.join(arguments)}]" if arguments else ""


def _parameters(library: Library, symbol: Symbol) -> list[Symbol]:
    assert symbol.home is not None
    context = Context(symbol.home, symbol)
    if symbol.class_node is not None:
        return own_parameters(library, context)
    node = symbol.nodes[-1] if symbol.nodes else None
    if node is None or parameter_call(symbol) is not None:
        return []
    written: list[ast.AST] = list(getattr(node, "type_params", []))
    if written:
        return [Symbol(symbol.module, "", "parameter", (n,)) for n in written]
    value = getattr(node, "value", None)
    if not isinstance(value, (ast.Subscript, ast.BinOp)):
        return []
    found = parameters_in(library, Context(symbol.home), value)
    return list({parameter.key: parameter for parameter in found}.values())


def _has_default(parameter: Symbol) -> bool:
    call = parameter_call(parameter)
    if call is not None:
        return any(k.arg == "default" for k in call.keywords)
    return any(getattr(n, "default_value", None) for n in parameter.nodes)
