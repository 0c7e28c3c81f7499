"""Immutable keyword-only records, and the checks of their fields.

The standard dataclasses and typing modules cost more at import than the whole runtime,
so settings are built on this: a metaclass that turns annotations into slots, and checks
that turn a bad number into a ``PolicyConfigError`` with its path.
"""

from __future__ import annotations

from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any, Self, dataclass_transform

    Check = Callable[[str, Any], Any]
else:

    def dataclass_transform(**_):
        return lambda cls: cls


def checks(**by_field: Check) -> dict[str, Check]:
    """The checks of a settings class by field name."""
    return by_field


class SettingsMeta(type):
    """Makes slots of the annotated names and keeps their defaults aside."""

    _fields: tuple[str, ...]
    _defaults: dict[str, Any]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> SettingsMeta:
        """Build the class; annotated assignments become defaults, not attributes."""
        fields = tuple(namespace.get("__annotations__", ()))
        defaults = {key: namespace.pop(key) for key in fields if key in namespace}
        namespace["__slots__"] = fields
        namespace["_fields"] = fields
        namespace["_defaults"] = defaults
        return super().__new__(mcs, name, bases, namespace)

    @property
    def __signature__(cls) -> Signature:
        """What ``inspect.signature`` and ``help`` show."""
        from inspect import Parameter, Signature

        return Signature(
            [
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=cls._defaults.get(name, Parameter.empty),
                )
                for name in cls._fields
            ]
        )


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Settings(metaclass=SettingsMeta):
    """Base of every settings class: immutable, comparable, checked when made."""

    _path = ""
    _checks = checks()
    _shares = True

    if not TYPE_CHECKING:

        def __init__(self, **values):
            cls = type(self)
            unknown = values.keys() - set(cls._fields)
            if unknown:
                raise TypeError(_unknown_text(cls, sorted(unknown)[0]))
            check_of = cls._checks
            for name in cls._fields:
                if name in values:
                    value = values[name]
                elif name in cls._defaults:
                    value = cls._defaults[name]
                else:
                    raise TypeError(f"{cls.__name__}() needs {name}=")
                check = check_of.get(name)
                if check is not None:
                    value = check(f"{cls._path}.{name}", value)
                object.__setattr__(self, name, value)
            self._finish(frozenset(values))

    def _finish(self, given: frozenset[str]) -> None:
        """Fill what depends on other fields and refuse contradictions."""

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace()")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, in the order of the language reference."""
        return {name: getattr(self, name) for name in type(self)._fields}

    def replace(self, **changes: Any) -> Self:
        """A copy with other values, checked again."""
        return type(self)(**{**self.as_dict(), **changes})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in type(self)._fields)

    def __hash__(self) -> int:
        cls = type(self)
        try:
            return hash((cls, *[getattr(self, name) for name in cls._fields]))
        except TypeError:
            return hash((cls, repr(self)))

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in self.as_dict().items())
        return f"{type(self).__name__}({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.as_dict())


_MOST_SHARED = 4096
_shared: dict[Settings, Settings] = {}


def shared(value: Any) -> Any:
    """The first of equal settings in this process, so that the others can be freed.

    Values that a fallback gives stay apart: 1, 1.0 and True are equal, not the same.
    """
    if not isinstance(value, Settings) or not value._shares:
        return value
    if len(_shared) >= _MOST_SHARED:
        _shared.clear()
    return _shared.setdefault(value, value)


def _rebuild(cls: type[Settings], values: dict[str, Any]) -> Settings:
    return cls(**values)


def _unknown_text(cls: type[Settings], name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, cls._fields, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{cls.__name__}() has no setting {name!r}{hint}"


def refuse(path: str, message: str, help: str = "") -> PolicyConfigError:
    """The error for a bad setting."""
    return PolicyConfigError(message, path=path, help=help)


def number(path: str, value: Any) -> float:
    """A finite number as float; booleans and text are refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise refuse(path, f"{value!r} is not a number")
    try:
        result = float(value)
    except OverflowError:
        raise refuse(path, "the number is too large") from None
    if result != result or result in (float("inf"), float("-inf")):
        raise refuse(path, f"{value!r} is not a finite number")
    return result


def duration(path: str, value: Any) -> float:
    """Seconds, zero or more."""
    result = number(path, value)
    if result < 0:
        raise refuse(path, f"{value!r} s is negative")
    return result


def positive(path: str, value: Any) -> float:
    """A number over zero."""
    result = number(path, value)
    if result <= 0:
        raise refuse(path, f"{value!r} is not over 0")
    return result


def ratio(path: str, value: Any) -> float:
    """A share from 0 to 1."""
    result = number(path, value)
    if not 0 <= result <= 1:
        raise refuse(path, f"{value!r} is not a ratio from 0 to 1")
    return result


def count(minimum: int) -> Check:
    """An integer of at least ``minimum``."""

    def check(path: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise refuse(path, f"{value!r} is not an integer")
        if value < minimum:
            raise refuse(path, f"{value} is below {minimum}")
        return value

    return check


def optional(check: Check) -> Check:
    """None, or what ``check`` accepts."""

    def accept(path: str, value: Any) -> Any:
        return None if value is None else check(path, value)

    return accept


def choice(*allowed: str) -> Check:
    """One of the given words."""

    def check(path: str, value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise refuse(path, f"{value!r} is not one of {', '.join(allowed)}")
        return value

    return check


def text(path: str, value: Any) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise refuse(path, f"{value!r} is not a name")
    return value


def flag(path: str, value: Any) -> bool:
    """True or False and nothing that merely behaves so."""
    if not isinstance(value, bool):
        raise refuse(path, f"{value!r} is not True or False")
    return value


def callable_name(path: str, value: Any) -> Any:
    """``package.module:function``, or the callable itself."""
    if callable(value):
        return value
    if not isinstance(value, str) or not _is_lazy_name(value):
        raise refuse(
            path,
            f"{value!r} is not a callable",
            "write it as package.module:function",
        )
    return value


def _is_lazy_name(value: str) -> bool:
    module, colon, name = value.partition(":")
    parts = [*module.split("."), *name.split(".")]
    return bool(colon) and all(part.isidentifier() for part in parts)


def exceptions(path: str, value: Any) -> tuple[Any, ...]:
    """Exception names, portable conditions and exception classes, as a tuple."""
    for item in _items(path, value):
        if isinstance(item, type):
            if not issubclass(item, BaseException):
                raise refuse(path, f"{item.__name__} is not an exception")
        elif not isinstance(item, str) or not (
            item.isidentifier() or _is_lazy_name(item)
        ):
            raise refuse(
                path,
                f"{item!r} is not an exception",
                "write ValueError, package.module:Class, or a portable condition",
            )
    return tuple(value)


def words(path: str, value: Any) -> tuple[str, ...]:
    """A tuple of texts."""
    return tuple(text(path, item) for item in _items(path, value))


def _items(path: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        raise refuse(path, f"{value!r} is not a tuple")
    return value


def instance(*classes: type) -> Check:
    """An object of one of the given classes."""

    def check(path: str, value: Any) -> Any:
        if not isinstance(value, classes):
            names = " or ".join(cls.__name__ for cls in classes)
            raise refuse(path, f"{value!r} is not a {names}")
        return value

    return check


REDIS_URL = "POLICY_REDIS_URL"
"""The environment variable with the address of a store, unless another is named."""


def store_address(path: str, store: str, url_env: str | None) -> str | None:
    """The variable with the address of a shared store; refused where none is shared."""
    if store == "redis":
        return url_env or REDIS_URL
    if url_env is not None:
        raise refuse(f"{path}.url_env", f"{url_env!r} does not go with store {store}")
    return None
