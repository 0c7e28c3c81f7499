"""What the call in progress wants of its HTTP client: a budget header, a connect limit.

An operation with ``budget.header`` or ``attempt_timeout.connect`` publishes both in a
context variable around each attempt. The clients' edges apply them; other clients can
ask ``connect_timeout`` and ``outgoing_headers``. The innermost operation that has one of
the two settings decides.
"""

from __future__ import annotations

from contextvars import ContextVar

from policyctl.runtime.budget import remaining_budget, require_budget
from policyctl.runtime.budget_header import format_budget_header
from policyctl.runtime.idempotency.forwarding import forwarded_headers
from policyctl.runtime.signatures import is_awaitable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextvars import Token
    from typing import Any

    from policyctl.runtime.settings import AttemptTimeout, Budget, BudgetHeader


_SHORTEST = 0.001
"""Seconds that a budget header can say; it has milliseconds and is rounded down."""


class UnusedSettingWarning(RuntimeWarning):
    """A setting that a client has to apply was not asked for by any client."""


class Sending:
    """The settings of one operation that its client applies.

    Attributes:
        name: ``service.operation``.
        header: the header for the remaining budget; None sends none.
        reserve: seconds kept back from what the callee gets.
        connect: seconds that connecting may take; None for no limit of its own.
        asked: whether a client ever asked for them.
        ended: whether a call ever succeeded.
    """

    __slots__ = ("asked", "connect", "ended", "header", "name", "reserve", "warned")

    def __init__(
        self,
        name: str,
        attempt_timeout: AttemptTimeout | None,
        budget: Budget | None,
    ) -> None:
        self.name = name
        self.header = None if budget is None else budget.header
        self.reserve = 0.0 if budget is None else budget.reserve
        self.connect = None if attempt_timeout is None else attempt_timeout.connect
        self.asked = self.ended = self.warned = False

    def warn_if_unused(self) -> None:
        """Say once, before another call, that calls go by without a client asking."""
        if self.asked or self.warned or not self.ended:
            return
        self.warned = True
        import warnings

        keys = [] if self.header is None else ["budget.header"]
        keys += [] if self.connect is None else ["attempt_timeout.connect"]
        warnings.warn(
            f"{self.name}: {' and '.join(keys)} had no effect on its first call; send "
            "its requests through a client of policyctl.runtime.edges, or ask "
            "policyctl.runtime.outgoing",
            UnusedSettingWarning,
            stacklevel=2,
        )


SENDING: ContextVar[Sending | None] = ContextVar("policyctl_sending", default=None)
"""What the innermost call with such settings wants."""


def publish(sending: Sending) -> Token[Sending | None]:
    """Put ``sending`` in force; ``take_back`` ends that."""
    sending.warn_if_unused()
    return SENDING.set(sending)


def take_back(token: Token[Sending | None]) -> None:
    """Put back what was in force before, if that is possible here.

    A coroutine that is closed by the garbage collector runs in another context, where
    there is nothing to put back.
    """
    try:
        SENDING.reset(token)
    except ValueError:
        return


def sending_call(sending: Sending, fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn``, a plain function, with ``sending`` in force while it runs."""

    def call(*args: Any, **kwargs: Any) -> Any:
        token = publish(sending)
        try:
            result = fn(*args, **kwargs)
        finally:
            take_back(token)
        if not is_awaitable(result):  # else it has not begun
            sending.ended = True
        return result

    return call


def sending_coroutine(sending: Sending, fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn``, a coroutine function, with ``sending`` in force while it runs."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        token = publish(sending)
        try:
            result = await fn(*args, **kwargs)
        finally:
            take_back(token)
        sending.ended = True
        return result

    return call


def asked() -> Sending | None:
    """What is in force here; it counts as applied from now on."""
    sending = SENDING.get()
    if sending is not None:
        sending.asked = True
    return sending


def connect_timeout() -> float | None:
    """Seconds that connecting may take now; None where nothing limits it.

    That is ``attempt_timeout.connect`` of the call in progress, or the remaining budget
    if that is less; for clients that have no edge of their own.
    """
    sending, left = asked(), remaining_budget()
    connect = None if sending is None else sending.connect
    if connect is None or (left is not None and left < connect):
        return left
    return connect


def outgoing_headers(present: Iterable[str] = ()) -> dict[str, str]:
    """The headers for a request of the call in progress that has ``present`` already.

    They carry the remaining budget, where its operation has ``budget.header``, and the
    idempotency key, where it has ``forward: {header: …}``.

    Raises:
        BudgetExhaustedError: nothing is left after ``budget.reserve``, so that a
            request would come too late.
    """
    sending = asked()
    if sending is None:
        return headers(None, 0.0, present)
    return headers(sending.header, sending.reserve, present)


def headers(
    header: BudgetHeader | None, reserve: float, present: Iterable[str]
) -> dict[str, str]:
    """``outgoing_headers`` with a header and reserve that are given."""
    found = {**forwarded_headers(), **budget_header(header, reserve)}
    known = {name.lower() for name in present}
    return {k: v for k, v in found.items() if k.lower() not in known}


def budget_header(header: BudgetHeader | None, reserve: float) -> dict[str, str]:
    """The header that carries the remaining budget; empty without one or the other.

    Raises:
        BudgetExhaustedError: nothing is left after the reserve.
    """
    left = sendable_budget(reserve)
    if left is None or header is None:
        return {}
    if left < _SHORTEST:  # it would be sent as 0, which some take for no limit
        require_budget(reserve + _SHORTEST)
    return {header.name: format_budget_header(left, header.unit)}


def sendable_budget(reserve: float) -> float | None:
    """Seconds that a callee gets; None without a budget.

    Raises:
        BudgetExhaustedError: that is nothing.
    """
    remaining = remaining_budget()
    if remaining is None:
        return None
    require_budget(reserve)
    return remaining - reserve
