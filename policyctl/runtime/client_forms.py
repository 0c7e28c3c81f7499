"""Guarding functions whose form does not show what their results are.

A library may return a coroutine, an iterator or a context manager from a plain function.
A policy takes coroutine functions and generator functions, so one is made around it.
"""

from __future__ import annotations

from functools import wraps

from policyctl.runtime.signatures import (
    CO_ASYNC_GENERATOR,
    CO_GENERATOR,
    flags_of,
    is_async,
    is_awaitable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Callable,
        Generator,
        Iterator,
    )
    from typing import Any

    from policyctl.runtime.policy import Policy


def guard_form(policy: Policy, fn: Any, form: str) -> Any:
    """The guarded form of ``fn``; ``form`` is a word as ``clients.client`` takes it."""
    if not form:
        return policy(fn)
    if form.endswith("manager"):
        return _manager(policy, fn, form == "async manager")
    return policy(_FORMS[form](fn))


def _manager(policy: Policy, fn: Any, asynchronous: bool) -> Any:
    import contextlib

    if asynchronous:

        @wraps(fn)
        async def opened(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            async with fn(*args, **kwargs) as item:
                yield item

        return contextlib.asynccontextmanager(policy(opened))

    @wraps(fn)
    def entered(*args: Any, **kwargs: Any) -> Generator[Any, None, None]:
        with fn(*args, **kwargs) as item:
            yield item

    return contextlib.contextmanager(policy(entered))


def _awaitable(fn: Any) -> Any:
    """A coroutine function of a plain one that returns something to await."""
    if is_async(fn):
        return fn

    @wraps(fn)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await fn(*args, **kwargs)

    return awaited


def _stream(fn: Any) -> Any:
    """A generator function of a plain one that returns an iterator."""
    if flags_of(fn) & CO_GENERATOR:
        return fn

    @wraps(fn)
    def items(*args: Any, **kwargs: Any) -> Iterator[Any]:
        yield from fn(*args, **kwargs)

    return items


def _async_stream(fn: Any) -> Any:
    """An async generator function of one whose result is an async iterator.

    It may have to be awaited: then a request is sent, and its answer is the iterator.
    """
    if flags_of(fn) & CO_ASYNC_GENERATOR:
        return fn

    @wraps(fn)
    async def items(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        found = fn(*args, **kwargs)
        if not hasattr(found, "__aiter__") and is_awaitable(found):
            found = await found
        try:
            async for item in found:
                yield item
        finally:
            close = getattr(found, "aclose", None) or getattr(found, "close", None)
            closing: Any = None if close is None else close()
            if is_awaitable(closing):
                await closing

    return items


_FORMS: dict[str, Callable[[Any], Any]] = {
    "awaitable": _awaitable,
    "stream": _stream,
    "async stream": _async_stream,
}
