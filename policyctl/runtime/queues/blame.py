"""Whose fault a failure is: the item's, or that of whoever it was sent to.

A delivery counts towards ``max_deliveries`` only where the item may be at fault. Refusals
of the policy itself and calls that reached nobody say nothing about it. Timeouts, lost
connections and overloaded servers do not either, unless other items get through: so an
outage of days uses up no deliveries, and an item that breaks its handler is found out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from policyctl.runtime.conditions import conditions_of
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    IdempotencyConflictError,
    PolicyError,
)
from policyctl.runtime.status import status_of

Verdict = Literal["item", "outage", "suspect"]
MOST_SUSPECTS: Final = 1000
_OVERLOADED: Final = frozenset({408, 425, 429, 502, 503, 504})


class Blame:
    """Judges the failures of one worker.

    Args:
        transport: of the operation; decides which errors are which condition.
        is_open: whether the operation's circuit breaker refuses calls now.
    """

    def __init__(self, transport: str | None, is_open: Callable[[], bool]) -> None:
        self._transport = transport
        self._is_open = is_open
        self._successes = 0
        self._suspects: dict[str, int] = {}

    def succeeded(self) -> None:
        """Something got through."""
        self._successes += 1

    def judge(self, error: BaseException, ids: list[str]) -> Verdict:
        """Who is to blame for ``error``, after these items were sent together.

        Returns:
            ``item``, ``outage``, or ``suspect`` where only other items that get through
            can tell.
        """
        kind = self._kind(error)
        if kind != "suspect" or len(ids) > 1:
            return kind
        before = self._suspects.get(ids[0])
        while len(self._suspects) >= MOST_SUSPECTS:
            self._suspects.pop(next(iter(self._suspects)))
        self._suspects[ids[0]] = self._successes
        # Others got through since the item failed before: it is the item.
        return "suspect" if before in (None, self._successes) else "item"

    def _kind(self, error: BaseException) -> Verdict:
        if isinstance(error, IdempotencyConflictError):
            return "item" if error.conflict == "arguments" else "outage"
        if isinstance(error, PolicyError) and not isinstance(
            error, AttemptTimeoutError
        ):
            return "outage"
        if not isinstance(error, Exception):
            return "item"
        conditions = conditions_of(error, self._transport)
        if "not_sent" in conditions:
            return "outage"
        if conditions or isinstance(error, TimeoutError):
            return "suspect"
        if status_of(error) in _OVERLOADED or self._is_open():
            return "suspect"
        return "item"
