"""The value of one argument of a call, by the parameter's name or a path into it."""

from __future__ import annotations

from types import FunctionType, MethodType

from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_missing = object()


class ArgumentPath:
    """``tenant`` or ``order.id``: attributes or keys of a named parameter.

    Args:
        path: the names, with dots between them.
        setting: the setting that holds it, for errors.
    """

    __slots__ = ("_parts", "_setting", "name", "path")

    def __init__(self, path: str, setting: str) -> None:
        self.path = path
        self.name, *self._parts = path.split(".")
        self._setting = setting

    def value(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What ``fn(*args, **kwargs)`` has there.

        Raises:
            PolicyConfigError: there is no such parameter, attribute or key.
        """
        value = self._argument(fn, args, kwargs)
        if value is _missing:
            raise self._no_such(self.name, "the parameters")
        for part in self._parts:
            inner: Any = getattr(value, part, _missing)
            if inner is _missing:
                try:
                    inner = value[part]
                except Exception:
                    raise self._no_such(part, f"a {type(value).__name__}") from None
            value = inner
        return value

    def _argument(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        while hasattr(fn, "func") and hasattr(fn, "keywords"):  # functools.partial
            args, kwargs = (*fn.args, *args), {**fn.keywords, **kwargs}
            fn = fn.func
        if self.name in kwargs:
            return kwargs[self.name]
        shift = 0
        if isinstance(fn, MethodType):
            fn, shift = fn.__func__, 1
        if type(fn) is not FunctionType or hasattr(fn, "__wrapped__"):
            return self._by_signature(fn, args, kwargs, shift)
        code = fn.__code__
        names = code.co_varnames[: code.co_argcount]
        if self.name in names:
            index = names.index(self.name) - shift
            if index < len(args):
                return args[index]
            return _default(fn.__defaults__ or (), len(names) - index - shift)
        return (fn.__kwdefaults__ or {}).get(self.name, _missing)

    def _by_signature(
        self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shift: int
    ) -> Any:
        from inspect import signature

        bound = signature(fn).bind_partial(*(None,) * shift, *args, **kwargs)
        bound.apply_defaults()
        return bound.arguments.get(self.name, _missing)

    def _no_such(self, part: str, where: str) -> PolicyConfigError:
        return PolicyConfigError(
            f"{self.path!r} names nothing: no {part!r} in {where}",
            path=self._setting,
            help="name a parameter of the function, or a path into one",
        )


def _default(defaults: tuple[Any, ...], from_end: int) -> Any:
    """The default of the parameter that is so many from the end."""
    return defaults[-from_end] if from_end <= len(defaults) else _missing
