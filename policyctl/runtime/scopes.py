"""Breakers and bulkheads that are not an operation's own: by service, by argument.

A service's breaker or bulkhead is one object that its operations share. By argument,
each value of a named argument has its own; the least recently used are dropped when
there are too many, if they are closed and idle.
"""

from __future__ import annotations

from _thread import allocate_lock

from policyctl.runtime.arguments import ArgumentPath
from policyctl.runtime.breaker import Breaker
from policyctl.runtime.bulkhead import Waiters
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.gate import Gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Generic, TypeVar

    from policyctl.runtime import settings as _settings
    from policyctl.runtime.chance import Chance

    T = TypeVar("T", Breaker, Waiters)

    class KeyedBase(Generic[T]):
        """The base as checkers see it."""

else:

    class KeyedBase:
        """Stands in for ``Generic``, which costs more to import than all of this."""

        def __class_getitem__(cls, item):
            return cls

    T = None

_LOOKED_AT = 8
"""How many of the oldest entries are asked whether they can go."""


class Keyed(KeyedBase[T]):
    """One object for each value of an argument, at most ``max_keys`` of them."""

    def __init__(
        self,
        path: ArgumentPath,
        make: Callable[[object], T],
        is_idle: Callable[[T], bool],
        max_keys: int,
    ) -> None:
        self.path = path
        self._make: Callable[[object], T] = make
        self._is_idle: Callable[[T], bool] = is_idle
        self._max_keys = max_keys
        self._lock = allocate_lock()
        self._items: dict[Any, T] = {}
        self._make_hook: Callable[[T], object] | None = None

    def of_call(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> T:
        """The object for a call's argument.

        Raises:
            PolicyConfigError: the function has no such parameter, or the path leads
                nowhere.
        """
        return self.get(self.path.value(fn, args, kwargs))

    def get(self, value: object) -> T:
        """The object for a value, made if there is none.

        When nothing can be dropped, a new value gets an object that is not kept.
        """
        key = _hashable(value)
        with self._lock:
            item: T | None = self._items.pop(key, None)
            if item is None:
                item = self._make(value)
                if self._make_hook is not None:
                    self._make_hook(item)
                if not self._has_room():
                    return item
            self._items[key] = item
            return item

    def _has_room(self) -> bool:
        if len(self._items) < self._max_keys:
            return True
        oldest = list(_first(self._items, _LOOKED_AT))
        for key in oldest:
            if self._is_idle(self._items[key]):
                del self._items[key]
                return True
        for key in oldest:  # others get their turn
            self._items[key] = self._items.pop(key)
        return False

    def values(self) -> list[T]:
        """All objects that are kept."""
        with self._lock:
            return list(self._items.values())

    def for_all(self, change: Callable[[T], object], later: bool) -> None:
        """Apply ``change`` to all objects, and to those made from now on if ``later``."""
        with self._lock:
            self._make_hook = change if later else None
            items = list(self._items.values())
        for item in items:
            change(item)

    def __len__(self) -> int:
        return len(self._items)

    def after_fork(self) -> None:
        """In a child process: fresh locks, free slots."""
        self._lock = allocate_lock()
        for item in self._items.values():
            item.after_fork()


def _first(items: dict[Any, Any], count: int) -> Any:
    from itertools import islice

    return islice(items, count)


def _hashable(value: object) -> object:
    """A dictionary key that tells 1, 1.0 and True apart and takes any value."""
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return type(value), value


class Shared:
    """The breakers and bulkheads of services, for the life of the process."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._breakers: dict[str, Breaker] = {}
        self._waiters: dict[str, Waiters] = {}
        self._declared: dict[tuple[str, str], object] = {}

    def breaker(
        self,
        service: str,
        settings: _settings.CircuitBreaker,
        random: Chance,
    ) -> Breaker:
        """The breaker of a service.

        Raises:
            PolicyConfigError: another operation declares it with other settings.
        """
        with self._lock:
            found = self._breakers.get(service)
            if found is None:
                found = make_breaker(settings, _notifier(service), random, service)
                if service:
                    self._breakers[service] = found
                    self._declared["circuit_breaker", service] = settings
        self._check("circuit_breaker", service, settings)
        return found

    def waiters(self, service: str, settings: _settings.Bulkhead) -> Waiters:
        """The bulkhead of a service.

        Raises:
            PolicyConfigError: another operation declares it with other settings.
        """
        with self._lock:
            found = self._waiters.get(service)
            if found is None:
                found = Waiters(Gate(), settings)
                if service:
                    self._waiters[service] = found
                    self._declared["bulkhead", service] = settings
        self._check("bulkhead", service, settings)
        return found

    def _check(self, block: str, service: str, settings: object) -> None:
        """Compare with what was declared first; what it is now may have been reloaded."""
        declared = self._declared.get((block, service), settings)
        if declared != settings:
            raise _differing(block, service, declared, settings)

    def after_fork(self) -> None:
        """In a child process: fresh locks and free slots."""
        self._lock = allocate_lock()
        for waiters in self._waiters.values():
            waiters.after_fork()


def _notifier(service: str) -> Callable[[str, str], None]:
    def notify(old: str, new: str) -> None:
        EVENTS.transition(service, "", old, new)

    return notify


def _differing(block: str, service: str, old: object, new: object) -> PolicyConfigError:
    return PolicyConfigError(
        f"the service shares one, but it is declared as {new!r} and as {old!r}",
        path=block,
        help="give all operations of the service the same block, or scope: operation",
        service=service,
    )


SHARED = Shared()
"""What the services of this process share."""


def make_breaker(
    settings: _settings.CircuitBreaker,
    notify: Callable[[str, str], None],
    random: Chance,
    name: str,
    value: object = None,
) -> Breaker:
    """A breaker for the store that the settings name; ``name`` is the shared one's.

    Raises:
        PolicyConfigError: it is to be shared, but has no name.
    """
    if settings.store == "memory":
        return Breaker(settings, notify, random)
    from policyctl.runtime.shared.breaker import SharedBreaker, key_of

    if settings.scope not in ("operation", "service"):
        name = key_of(name, value)
    return SharedBreaker(settings, notify, random, name)


def keyed_breakers(
    settings: _settings.CircuitBreaker,
    notify: Callable[[object, str, str], None],
    random: Chance,
    name: str = "",
) -> Keyed[Breaker]:
    """Breakers by argument; ``notify(value, old, new)`` tells of their transitions."""

    def make(value: object) -> Breaker:
        def notify_of(old: str, new: str) -> None:
            notify(value, old, new)

        return make_breaker(settings, notify_of, random, name, value)

    def is_idle(breaker: Breaker) -> bool:
        return breaker.is_idle

    path = _path(settings.scope, "circuit_breaker")
    return Keyed(path, make, is_idle, settings.max_keys)


def keyed_waiters(settings: _settings.Bulkhead) -> Keyed[Waiters]:
    """Bulkheads by argument."""

    def make(value: object) -> Waiters:
        return Waiters(Gate(), settings)

    def is_idle(waiters: Waiters) -> bool:
        return waiters.gate.count == 0

    return Keyed(_path(settings.scope, "bulkhead"), make, is_idle, settings.max_keys)


def _path(scope: str, block: str) -> ArgumentPath:
    kind, _, path = scope.partition(":")
    if kind != "argument" or not path:
        raise PolicyConfigError(
            f"{scope!r} is no scope",
            path=f"{block}.scope",
            help="write operation, service or argument:NAME",
        )
    return ArgumentPath(path, f"{block}.scope")
