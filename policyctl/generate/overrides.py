"""The environment variables that override an operation's limits at start-up."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.checks.limits import LIMITS, override_name, show
from policyctl.resolve.policy import Operation

_PATHS = tuple((path, limit) for path, limit in LIMITS.items() if limit.override)
_MISSING = object()


def overrides(service: str, owner: str, operation: Operation) -> Iterator[str]:
    """``NAME (value)`` for each limit that the operation has."""
    for path, limit in _PATHS:
        value = _find(operation, path)
        if value is _MISSING or (
            path.endswith("max_keys") and not _keyed(operation, path)
        ):
            continue
        shown = limit.word if value is None else value
        if isinstance(shown, (int, float)):
            shown = show(limit.kind, shown)
            if path == "circuit_breaker.window.calls":
                shown = f"{shown} calls"
        if shown is not None:
            yield f"{override_name(service, owner, path)} ({shown})"


def _keyed(operation: Operation, path: str) -> bool:
    """Whether a block keeps state by key, so that the number of keys matters."""
    scope = _find(operation, f"{path.rpartition('.')[0]}.scope")
    return isinstance(scope, str) and scope.startswith("argument:")


def _find(operation: Operation, path: str) -> object:
    value: object = operation
    for part in path.split("."):
        value = getattr(value, part, _MISSING)
        if value is _MISSING:
            return _MISSING
    return value
