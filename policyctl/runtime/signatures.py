"""What kind of callable something is, and its parameters as source text."""

from __future__ import annotations

from types import BuiltinFunctionType, CodeType, FunctionType, MethodType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CO_VARARGS = 0x04
CO_VARKEYWORDS = 0x08
CO_GENERATOR = 0x20
CO_COROUTINE = 0x80
CO_ITERABLE_COROUTINE = 0x100
CO_ASYNC_GENERATOR = 0x200
ASYNCHRONOUS = CO_COROUTINE | CO_ITERABLE_COROUTINE
GENERATORS = CO_GENERATOR | CO_ASYNC_GENERATOR

PREFIX = "_pc_"
"""Of every name that a compiled wrapper uses for itself."""

GENERIC = "*_args, **_kwargs"


class Shape:
    """The parameters of a wrapper and how it passes them on.

    Attributes:
        parameters: as in ``def f(<parameters>)``, without defaults.
        forward: as in ``f(<forward>)``.
        positional: a tuple display of the positional arguments.
        keywords: a dictionary display of the others.
    """

    __slots__ = ("forward", "keywords", "parameters", "positional")

    def __init__(
        self, parameters: str, forward: str, positional: str, keywords: str
    ) -> None:
        self.parameters = parameters
        self.forward = forward
        self.positional = positional
        self.keywords = keywords


ANY = Shape(GENERIC, GENERIC, "_args", "_kwargs")
"""For callables whose parameters are not known."""

PACKED = Shape(
    f"{PREFIX}fn, {PREFIX}args, {PREFIX}kwargs",
    f"*{PREFIX}args, **{PREFIX}kwargs",
    f"{PREFIX}args",
    f"{PREFIX}kwargs",
)
"""For a function that comes with its packed arguments."""


def shape_of(fn: Callable[..., Any]) -> Shape:
    """The shape of a plain function, or ``ANY``."""
    if type(fn) is not FunctionType:
        return ANY
    code = fn.__code__
    names = code.co_varnames
    if any(name.startswith(PREFIX) for name in names):
        return ANY
    positional = names[: code.co_argcount]
    end = code.co_argcount + code.co_kwonlyargcount
    keyword_only = names[code.co_argcount : end]
    parameters: list[str] = list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    forward = list(positional)
    stars = list(positional)
    if code.co_flags & CO_VARARGS:
        star = f"*{names[end]}"
        end += 1
        parameters.append(star)
        forward.append(star)
        stars.append(star)
    elif keyword_only:
        parameters.append("*")
    parameters += keyword_only
    forward += [f"{name}={name}" for name in keyword_only]
    entries = [f"{name!r}: {name}" for name in keyword_only]
    if code.co_flags & CO_VARKEYWORDS:
        rest = f"**{names[end]}"
        parameters.append(rest)
        forward.append(rest)
        entries.append(rest)
    return Shape(
        ", ".join(parameters),
        ", ".join(forward),
        f"({', '.join(stars)},)" if stars else "()",
        f"{{{', '.join(entries)}}}",
    )


def flags_of(fn: Any) -> int:
    """The code flags behind functions, methods, partials and callable objects."""
    for _ in range(32):
        code = code_of(fn)
        if code is not None:
            return int(code.co_flags) | _mark(fn)
        if type(fn) in (BuiltinFunctionType, type):
            return 0
        if _mark(fn):
            return CO_COROUTINE
        inner = _inside(fn)
        if inner is None:
            return 0
        fn = inner
    return 0


def code_of(fn: Any) -> CodeType | None:
    """The code of a function; None for what has none, or only seems to.

    Proxies of remote functions have an attribute of any name, or fail when asked.
    """
    code = attribute(fn, "__code__")
    return code if isinstance(code, CodeType) else None


def attribute(holder: Any, name: str) -> Any:
    """An attribute of whatever object; None if it is not there or fails."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def kind_of(value: object) -> type[Any]:
    """``type(value)``, of which type checkers infer nothing."""
    return type(value)


def _mark(fn: Any) -> int:
    """The mark that ``inspect.markcoroutinefunction`` makes: a plain object."""
    for holder in (fn, attribute(fn, "__func__")):
        if type(attribute(holder, "_is_coroutine_marker")) is object:
            return CO_COROUTINE
    return 0


def _inside(fn: Any) -> Any:
    """The callable that a partial, a method or a callable object calls."""
    if type(fn).__name__ in ("partial", "partialmethod") and hasattr(fn, "func"):
        return fn.func
    if isinstance(fn, MethodType):
        return fn.__func__
    if isinstance(fn, type):
        return None
    call = attribute(fn.__class__, "__call__")
    return call if code_of(call) is not None or _mark(call) else None


def flags_for_call(fn: Any) -> int:
    """``flags_of``, fast for plain functions."""
    if type(fn) is FunctionType and not hasattr(fn, "_is_coroutine_marker"):
        return fn.__code__.co_flags
    return flags_of(fn)


def is_async(fn: Any) -> bool:
    """Whether calling ``fn`` gives a coroutine, as far as can be told beforehand."""
    return bool(flags_for_call(fn) & ASYNCHRONOUS)


PLAIN: frozenset[type] = frozenset(
    {type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set}
)
"""Types of results that are neither awaitable nor carry a status."""


def is_awaitable(result: object) -> bool:
    """Whether ``result`` can be awaited."""
    return (kind := type(result)) not in PLAIN and hasattr(kind, "__await__")


def pass_limit(
    fn: Callable[..., Any],
    name: str,
    limit: float,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with ``limit`` seconds as ``name``; a smaller one given stays.

    So does an object of a client's own, of which only the client knows what is smaller;
    a pair, as requests takes for connecting and reading, is shortened in its parts.
    """
    index = _position(fn, name)
    if index is not None and index < len(args):
        shorter = _shorter(args[index], limit)
        return (*args[:index], shorter, *args[index + 1 :]), kwargs
    return args, {**kwargs, name: _shorter(kwargs.get(name), limit)}


def _shorter(given: Any, limit: float) -> Any:
    if given is None or isinstance(given, bool):
        return limit
    if isinstance(given, (int, float)):
        return min(given, limit)
    if kind_of(given) is tuple:
        return tuple(_shorter(part, limit) for part in given)
    return given


def _position(fn: Any, name: str) -> int | None:
    bound = isinstance(fn, MethodType)
    code = code_of(fn)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    return names.index(name) - bound if name in names else None
