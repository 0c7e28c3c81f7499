"""What every HTTP client sends on and keeps to, for the call in progress."""

from __future__ import annotations

from policyctl.runtime.budget import remaining_budget
from policyctl.runtime.outgoing import asked, budget_header, headers
from policyctl.runtime.settings import BudgetHeader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from policyctl.runtime.policy import Policy


class Outgoing:
    """The headers and limits of one client.

    What is not given here is that of the operation whose call is in progress: its
    ``budget.header`` with its ``reserve``, and its ``attempt_timeout.connect``.

    Args:
        header: the header for the budget and its unit.
        reserve: seconds kept back from what the callee gets; where the operation keeps
            back more, that counts.
        connect: seconds that connecting may take.
    """

    __slots__ = ("connect", "header", "reserve")

    def __init__(
        self,
        header: BudgetHeader | None = None,
        reserve: float = 0.0,
        connect: float | None = None,
    ) -> None:
        self.header = header
        self.reserve = reserve
        self.connect = connect

    @classmethod
    def of(cls, policy: Policy) -> Outgoing:
        """What the ``budget`` and ``attempt_timeout`` blocks of an operation say."""
        budget: Any = policy.settings.get("budget")
        timeout: Any = policy.settings.get("attempt_timeout")
        connect = None if timeout is None else timeout.connect
        if budget is None:
            return cls(connect=connect)
        return cls(budget.header, budget.reserve, connect)

    def headers(self, present: Iterable[str] = ()) -> dict[str, str]:
        """Headers to add to a request that has the ``present`` ones already.

        Raises:
            BudgetExhaustedError: nothing is left after the reserve, so that a request
                would come too late.
        """
        header, reserve = self.budget_header()
        return headers(header, reserve, present)

    def budget_header(self) -> tuple[BudgetHeader | None, float]:
        """The header that goes along now, and the seconds that are kept back."""
        sending = asked()
        if self.header is not None or sending is None:
            return self.header, self.reserve
        return sending.header, max(self.reserve, sending.reserve)

    def budget(self) -> dict[str, str]:
        """The header for the budget alone, as it is now; empty where none is sent.

        Raises:
            BudgetExhaustedError: nothing is left after the reserve.
        """
        header, reserve = self.budget_header()
        return budget_header(header, reserve)

    def shorten(self, timeout: float | None) -> float | None:
        """A client's own timeout, or what is left if that is less."""
        return _smaller(timeout, remaining_budget())

    def shorten_connect(self, timeout: float | None) -> float | None:
        """The smallest of a client's own, the operation's limit, and what is left."""
        return self.shorten(_smaller(timeout, self.connect_limit()))

    def connect_limit(self) -> float | None:
        """Seconds that the operation gives to connecting; None for no limit."""
        sending = asked()
        if self.connect is not None or sending is None:
            return self.connect
        return sending.connect


def _smaller(one: float | None, other: float | None) -> float | None:
    """Of two limits the one that ends first; None is no limit."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
