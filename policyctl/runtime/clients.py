"""Typed clients: the methods of a client, each under the policy of its operation.

Generated code decorates a class with ``client``. An instance holds the client that it
is made of as ``unguarded``; its methods are that client's own, guarded when they are
first used. Signatures, docstrings and whether a method is async are those of the object
itself, so a mock, a subclass or a client made at run time is guarded as it is.
"""

from __future__ import annotations

from types import MethodType

from policyctl.runtime.client_forms import guard_form
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.lazy import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from policyctl.runtime.policy import Policy

    C = TypeVar("C", bound=type)

NO_FORMS: Mapping[str, str] = {}


def client(
    target: str,
    *,
    methods: Mapping[str, Policy],
    forms: Mapping[str, str] = NO_FORMS,
    statics: tuple[str, ...] = (),
    properties: tuple[str, ...] = (),
    contexts: tuple[str, ...] = (),
) -> Callable[[C], C]:
    """A decorator that gives a class the guarded methods of another.

    Args:
        target: the class, ``package.module:Class``; it is imported only where a method
            is used without an instance.
        methods: the policies by the names of the methods.
        forms: how results are used, of methods whose own form does not show it:
            ``awaitable`` for plain ones whose answer is awaited, ``stream`` and ``async
            stream`` for those that return iterators (the async ones at once or when
            awaited), ``manager`` and ``async manager`` for those that return context
            managers.
        statics: methods that need no instance: static ones and those of the class.
        properties: properties that are passed through.
        contexts: ``sync`` and ``async``: the client is a context manager of that kind,
            and so is the guarded one.
    """

    def decorate(cls: C) -> C:
        for name, policy in methods.items():
            make = _Static if name in statics else _Method
            setattr(cls, name, make(target, name, policy, forms.get(name, "")))
        members: dict[str, Any] = {name: _passed(name) for name in properties}
        for kind in contexts:
            members.update(_CONTEXTS[kind])
        members["__repr__"] = _repr
        for name, member in members.items():
            setattr(cls, name, member)
        return cls

    return decorate


def functions(
    targets: Mapping[str, tuple[str, Policy]], *, forms: Mapping[str, str] = NO_FORMS
) -> Callable[[C], C]:
    """A decorator that gives a class guarded functions, imported when first called.

    ``targets`` are ``package.module:function`` and the policy, by name; ``forms`` as
    those of ``client``.
    """

    def decorate(cls: C) -> C:
        for name, (target, policy) in targets.items():
            setattr(cls, name, _Static("", target, policy, forms.get(name, "")))
        return cls

    return decorate


class _Member:
    """What the class has for a method; it knows how to guard the real one."""

    __slots__ = ("_form", "_known", "name", "policy", "target")

    def __init__(self, target: str, name: str, policy: Policy, form: str) -> None:
        self.target = target
        self.name = name
        self.policy = policy
        self._form = form
        # One function and its guarded form: clients made at run time have functions of
        # their own, and keeping all of them would keep all such clients alive.
        self._known: tuple[Any, Any] = (None, None)

    def load(self) -> Any:
        """The function itself, imported."""
        path = f"{self.target}.{self.name}" if self.target else self.name
        return load(path, "target")

    def guard(self, fn: Any) -> Any:
        """The guarded form of a function, made once for the same one in a row."""
        known, guarded = self._known
        if known is fn:
            return guarded
        guarded = guard_form(self.policy, fn, self._form)
        self._known = (fn, guarded)
        return guarded

    def bind(self, found: Any) -> Any:
        """The guarded form of a method or function as it was looked up."""
        if type(found) is MethodType:
            return MethodType(self.guard(found.__func__), found.__self__)
        return guard_form(self.policy, found, self._form)


class _Method(_Member):
    """A method of an instance; guarded once for each client."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.unbound()
        bound = self.bind(getattr(instance.unguarded, self.name))
        instance.__dict__[self.name] = bound
        return bound

    def unbound(self) -> Any:
        """The method as the class has it: a function of a guarded client.

        It looks like the target's own where that can be imported.
        """
        from functools import update_wrapper

        name = self.name

        def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return getattr(self, name)(*args, **kwargs)

        method.__name__ = name
        try:
            return update_wrapper(method, self.load())
        except PolicyConfigError:
            return method


class _Static(_Member):
    """A function that needs no instance: of a module, static, or of the class."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None:
            return self.bind(getattr(instance.unguarded, self.name))
        found = self.load()
        if type(found) is MethodType:
            return self.bind(found)
        return self.guard(found)


def _passed(name: str) -> property:
    def get(self: Any) -> Any:
        return getattr(self.unguarded, name)

    def put(self: Any, value: Any) -> None:
        setattr(self.unguarded, name, value)

    def delete(self: Any) -> None:
        delattr(self.unguarded, name)

    return property(get, put, delete)


def _enter(self: Any) -> Any:
    self.unguarded.__enter__()
    return self


def _exit(self: Any, *error: Any) -> Any:
    return self.unguarded.__exit__(*error)


async def _aenter(self: Any) -> Any:
    await self.unguarded.__aenter__()
    return self


async def _aexit(self: Any, *error: Any) -> Any:
    return await self.unguarded.__aexit__(*error)


def _repr(self: Any) -> str:
    return f"<guarded {self.unguarded!r}>"


_CONTEXTS: dict[str, dict[str, Any]] = {
    "sync": {"__enter__": _enter, "__exit__": _exit},
    "async": {"__aenter__": _aenter, "__aexit__": _aexit},
}
