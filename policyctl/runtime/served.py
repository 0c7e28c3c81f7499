"""Refuses settings that this runtime does not serve, instead of ignoring them."""

from __future__ import annotations

from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def refuse_unserved(service: str, operation: str, blocks: dict[str, Any]) -> None:
    """Raise for the first setting that has no engine.

    Raises:
        PolicyConfigError: such a setting, by its path.
    """
    path = _unserved(blocks)
    if path is not None:
        raise PolicyConfigError(
            "this version of the runtime does not serve it",
            path=path,
            help="remove the setting, or update policyctl",
            service=service,
            operation=operation,
        )


def _unserved(blocks: dict[str, Any]) -> str | None:
    if blocks["kind"] == "stream":
        for name in ("hedge", "idempotency"):
            if blocks[name] is not None:
                return name
    return _in_attempt_timeout(blocks["attempt_timeout"], blocks["kind"])


def _in_attempt_timeout(settings: Any, kind: str) -> str | None:
    if settings is None or kind == "stream":
        return None
    for name in ("first_item", "idle"):
        if getattr(settings, name) is not None:
            return f"attempt_timeout.{name}"
    return None
