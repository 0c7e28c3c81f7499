"""The environment variables that override an operation's limits at start-up."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache

from policyctl.checks.limits import LIMITS, Limit, override_name, show
from policyctl.generate.expressions import BLOCKS
from policyctl.resolve.policy import Fallback, Inbound, Operation

_MISSING = object()
_BY_BLOCK: dict[str, list[tuple[str, tuple[str, ...], Limit]]] = {
    name: [
        (path, tuple(path.split(".")[1:]), limit)
        for path, limit in LIMITS.items()
        if limit.override and path.startswith(f"{name}.")
    ]
    for name in BLOCKS
}


def overrides(service: str, owner: str, blocks: Operation | Inbound) -> Iterator[str]:
    """``NAME (value)`` for each limit of an operation or of ``inbound``."""
    prefix = override_name(service, owner, "")
    for name in BLOCKS:
        block: Hashable = getattr(blocks, name, None)
        if block is None or isinstance(block, Fallback):
            continue
        for variable in _of_block(name, block):
            yield prefix + variable


@lru_cache(maxsize=4096)
def _of_block(name: str, block: Hashable) -> tuple[str, ...]:
    """The ends of the variables of one block, with their values."""
    keyed = str(getattr(block, "scope", "")).startswith("argument:")
    found: list[str] = []
    for path, parts, limit in _BY_BLOCK[name]:
        value = _find(block, parts)
        shown = limit.word if value is None else value
        if (
            value is _MISSING
            or shown is None
            or (parts[-1] == "max_keys" and not keyed)
        ):
            continue
        if isinstance(shown, (int, float)):
            shown = show(limit.kind, shown)
            if path == "circuit_breaker.window.calls":
                shown = f"{shown} calls"
        found.append(f"{override_name('', '', path)[2:]} ({shown})")
    return tuple(found)


def _find(block: object, parts: tuple[str, ...]) -> object:
    value = block
    for part in parts:
        value = getattr(value, part, _MISSING)
        if value is _MISSING:
            return _MISSING
    return value
