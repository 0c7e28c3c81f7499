"""The policies of one generated package, found by name or pattern, loaded when asked.

A generated package may hold a thousand modules of which a process uses a few. It knows
the names of all of its policies; a module is imported when one of its own is looked up.
"""

from __future__ import annotations

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.registry import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from policyctl.runtime.policy import Policy
    from policyctl.runtime.queues import Queue
    from policyctl.runtime.views import BulkheadView, CircuitBreakerView


class PackageRegistry:
    """A read-only mapping of ``service.operation`` to the policies of a package.

    Patterns are shell patterns over the names: ``hotel_api.*``. A pattern without
    wildcards that matches nothing raises like an unknown name.

    Args:
        module: the import name of the package's ``registry`` module.
        operations: the names of each service's operations; a service is a module.
        queues: the names of each service's queues.
    """

    __slots__ = ("_operations", "_package", "_queues")

    def __init__(
        self,
        *,
        module: str,
        operations: Mapping[str, tuple[str, ...]],
        queues: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._package = module.rpartition(".")[0]
        self._operations = operations
        self._queues = queues or {}

    def __getitem__(self, name: str) -> Policy:
        if name not in self:
            raise self._unknown(name)
        self._load(name.partition(".")[0])
        return registry[name]

    def get(self, name: str) -> Policy | None:
        """The policy called ``service.operation``, or None."""
        if name not in self:
            return None
        return self[name]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        service, _, operation = name.partition(".")
        return operation in self._operations.get(service, ())

    def __iter__(self) -> Iterator[str]:
        for service, operations in self._operations.items():
            for operation in operations:
                yield f"{service}.{operation}"

    def __len__(self) -> int:
        return sum(map(len, self._operations.values()))

    def policies(self, pattern: str = "*") -> dict[str, Policy]:
        """Policies whose name matches, sorted by name.

        Raises:
            PolicyConfigError: a name without wildcards is unknown.
        """
        if not any(character in pattern for character in "*?["):
            return {pattern: self[pattern]}
        from fnmatch import fnmatchcase

        return {name: self[name] for name in sorted(self) if fnmatchcase(name, pattern)}

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
        """Queues of the package whose name matches, sorted by name.

        Raises:
            PolicyConfigError: a name without wildcards is unknown.
        """
        from policyctl.runtime.queues import live

        for service in self._queues:
            self._load(service)
        own = {f"{s}.{name}" for s, names in self._queues.items() for name in names}
        found = live.queues(pattern) if own else {}
        if not any(character in pattern for character in "*?["):
            if pattern not in own:
                raise self._unknown(pattern, own)
            return found
        return {name: queue for name, queue in found.items() if name in own}

    def statistics(self, pattern: str = "*") -> dict[str, dict[str, Any]]:
        """State and counts of the policies that match, ready for JSON."""
        return {
            name: policy.statistics() for name, policy in self.policies(pattern).items()
        }

    def _load(self, service: str) -> None:
        from importlib import import_module

        import_module(f"{self._package}.{service}")

    def _unknown(self, name: str, queues: set[str] | None = None) -> PolicyConfigError:
        from difflib import get_close_matches

        known = list(self) if queues is None else sorted(queues)
        kinds, kind = ("policies", "policy") if queues is None else ("queues", "queue")
        near = get_close_matches(name, known, 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else f"it has {len(known)} {kinds}"
        return PolicyConfigError(
            f"{self._package} has no {kind} called {name!r}", help=hint
        )
