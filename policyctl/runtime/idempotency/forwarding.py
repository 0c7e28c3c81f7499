"""The key of the guarded call in progress, for clients that send it on."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token

FORWARDED: ContextVar[tuple[str, str] | None] = ContextVar(
    "policyctl_idempotency_key", default=None
)
"""Header name (empty if the key goes by argument) and key of the innermost call."""


def take_back(token: Token[tuple[str, str] | None]) -> None:
    """Put back what was published before, if that is possible here.

    A coroutine that is closed by the garbage collector runs in another context, where
    there is nothing to put back.
    """
    try:
        FORWARDED.reset(token)
    except ValueError:
        return


def forwarded_key() -> str | None:
    """The idempotency key of the call in progress, or None."""
    found = FORWARDED.get()
    return None if found is None else found[1]


def forwarded_headers() -> dict[str, str]:
    """Headers that carry the key to the callee, the same on every attempt.

    The HTTP transports of ``policyctl.runtime.edges`` add them by themselves; other
    clients can pass this dictionary. Empty unless the operation says ``forward:
    {header: …}``.
    """
    found = FORWARDED.get()
    return {} if found is None or not found[0] else {found[0]: found[1]}
