"""Every named policy of the process, by ``service.operation``.

A name stands for one live object: defining the same policy again, as re-importing a
generated module does, gives the object that is there, with its state. The registry
keeps its policies for the life of the process; that is what lets a breaker stay open
over a reload.
"""

from __future__ import annotations

from _thread import RLock
from _weakrefset import WeakSet

from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from policyctl.runtime.policy import Policy
    from policyctl.runtime.queues import Queue
    from policyctl.runtime.views import BulkheadView, CircuitBreakerView

    Place = tuple[str, int]


class _Entry:
    __slots__ = ("file", "line", "policy", "settings")

    def __init__(
        self, policy: Policy, settings: Mapping[str, Any], place: Place
    ) -> None:
        self.policy = policy
        self.settings = settings
        self.file, self.line = place

    @property
    def place(self) -> str:
        """Where the policy was declared, empty if nobody knows."""
        return _place_text((self.file, self.line))


class Registry:
    """A read-only mapping of names to policies, with their parts by pattern.

    Patterns are shell patterns over ``service.operation``: ``hotel_api.*``. A pattern
    without wildcards that matches nothing raises like an unknown name.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._forgotten: WeakSet[Policy] = WeakSet()
        self._lock = RLock()

    def claim(
        self,
        name: str,
        settings: Mapping[str, Any],
        make: Callable[[], Policy],
        place: Place = ("", 0),
    ) -> Policy:
        """The live policy called ``name``, made now if there is none.

        Args:
            name: ``service.operation``.
            settings: what it was declared with, before overrides, by argument.
            make: builds it; called at most once, inside the registry's lock.
            place: the file and line that declare it, for the error.

        Raises:
            PolicyConfigError: ``name`` is taken by a policy with other settings.
        """
        with self._lock:
            entry = self._entries.get(name)
            if entry is None:
                policy = make()
                self._entries[name] = _Entry(policy, settings, place)
                return policy
            differing = _first_difference(entry.settings, settings)
            if differing is not None:
                raise _conflict(name, differing, entry, settings, place)
            return entry.policy

    def __getitem__(self, name: str) -> Policy:
        entry = self._entries.get(name)
        if entry is None:
            raise self._unknown(name)
        return entry.policy

    def get(self, name: str) -> Policy | None:
        """The policy called ``service.operation``, or None."""
        entry = self._entries.get(name)
        return None if entry is None else entry.policy

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def policies(self, pattern: str = "*") -> dict[str, Policy]:
        """Policies whose name matches, sorted by name.

        Raises:
            PolicyConfigError: a name without wildcards is unknown.
        """
        if not any(character in pattern for character in "*?["):
            return {pattern: self[pattern]}
        from fnmatch import fnmatchcase

        return {
            name: entry.policy
            for name, entry in sorted(self._entries.items())
            if fnmatchcase(name, pattern)
        }

    def of_service(self, service: str) -> list[Policy]:
        """The policies of one service, in the order of their definition."""
        prefix = f"{service}."
        return [
            entry.policy
            for name, entry in list(self._entries.items())
            if name.startswith(prefix) and entry.policy.service == service
        ]

    def circuit_breakers(self, pattern: str = "*") -> dict[str, CircuitBreakerView]:
        """Circuit breakers of the policies that match and have one."""
        return {
            name: policy.circuit_breaker
            for name, policy in self.policies(pattern).items()
            if policy.settings.get("circuit_breaker") is not None
        }

    def bulkheads(self, pattern: str = "*") -> dict[str, BulkheadView]:
        """Bulkheads of the policies that match and have one."""
        return {
            name: policy.bulkhead
            for name, policy in self.policies(pattern).items()
            if policy.settings.get("bulkhead") is not None
        }

    def queues(self, pattern: str = "*") -> dict[str, Queue[Any]]:
        """Queues whose name ``service.queue`` matches, sorted by name.

        Raises:
            PolicyConfigError: a name without wildcards is unknown.
        """
        from policyctl.runtime.queues import live

        return live.queues(pattern)

    def statistics(self, pattern: str = "*") -> dict[str, dict[str, Any]]:
        """State and counts of the policies that match, ready for JSON."""
        return {
            name: policy.statistics() for name, policy in self.policies(pattern).items()
        }

    def forget(self, name: str) -> None:
        """Drop a policy that is no longer used; functions that it guards keep it.

        Raises:
            PolicyConfigError: the name is unknown.
        """
        with self._lock:
            entry = self._entries.pop(name, None)
            if entry is None:
                raise self._unknown(name)
            self._forgotten.add(entry.policy)

    def in_use(self) -> list[Policy]:
        """All policies that had a name here and can still be called."""
        named = [entry.policy for entry in list(self._entries.values())]
        return [*named, *self._forgotten]

    def after_fork(self) -> None:
        """Replace the lock, which another thread may have held at the fork."""
        self._lock = RLock()

    def _unknown(self, name: str) -> PolicyConfigError:
        from difflib import get_close_matches

        near = get_close_matches(name, self._entries, 1, 0.5)
        if near:
            hint = f"did you mean {near[0]}?"
        elif self._entries:
            hint = f"known are {', '.join(sorted(self._entries)[:5])}"
        else:
            hint = "no policy is defined yet; import the generated package first"
        return PolicyConfigError(f"there is no policy called {name!r}", help=hint)


def _first_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            return key
    return None


def _conflict(
    name: str, key: str, entry: _Entry, settings: Mapping[str, Any], place: Place
) -> PolicyConfigError:
    old, new = entry.settings.get(key), settings.get(key)
    service, _, operation = name.partition(".")
    return PolicyConfigError(
        f"defined with {new!r}{_at(_place_text(place))}, but it is live with {old!r}"
        f"{_at(entry.place)}",
        path=key,
        help="give the two policies different names, or the same settings",
        service=service,
        operation=operation,
    )


def place_of_caller() -> Place:
    """The file and line that call who asks."""
    import sys

    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def _place_text(place: Place) -> str:
    file, line = place
    return f"{file}:{line}" if file else ""


def _at(place: str) -> str:
    return f" at {place}" if place else ""


registry = Registry()
"""The registry of this process."""


def registry_entry(name: str) -> Policy:
    """The live policy called ``service.operation``; how a pickled policy is loaded.

    Raises:
        PolicyConfigError: the module that defines it is not imported yet.
    """
    return registry[name]
