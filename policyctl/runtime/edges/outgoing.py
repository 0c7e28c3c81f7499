"""What every HTTP client sends on: the remaining budget and the idempotency key."""

from __future__ import annotations

from policyctl.runtime.budget import remaining_budget, require_budget
from policyctl.runtime.budget_header import format_budget_header
from policyctl.runtime.idempotency.forwarding import forwarded_headers
from policyctl.runtime.settings import BudgetHeader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from policyctl.runtime.policy import Policy


class Outgoing:
    """The headers of one client.

    Args:
        header: the header for the budget and its unit; None sends no budget.
        reserve: seconds kept back from what the callee gets.
    """

    __slots__ = ("header", "reserve")

    def __init__(
        self, header: BudgetHeader | None = None, reserve: float = 0.0
    ) -> None:
        self.header = header
        self.reserve = reserve

    @classmethod
    def of(cls, policy: Policy) -> Outgoing:
        """What the ``budget`` block of an operation says; nothing without one."""
        block: Any = policy.settings.get("budget")
        return cls() if block is None else cls(block.header, block.reserve)

    def headers(self, present: Iterable[str] = ()) -> dict[str, str]:
        """Headers to add to a request that has the ``present`` ones already.

        Raises:
            BudgetExhaustedError: nothing is left after the reserve, so that a request
                would come too late.
        """
        found = dict(forwarded_headers())
        left = self.remaining()
        if left is not None and self.header is not None:
            found[self.header.name] = format_budget_header(left, self.header.unit)
        known = {name.lower() for name in present}
        return {k: v for k, v in found.items() if k.lower() not in known}

    def remaining(self) -> float | None:
        """Seconds that the callee gets; None without a budget.

        Raises:
            BudgetExhaustedError: that is nothing.
        """
        remaining = remaining_budget()
        if remaining is None:
            return None
        require_budget(self.reserve)
        return remaining - self.reserve

    def shorten(self, timeout: float | None) -> float | None:
        """A client's own timeout, or what is left if that is less."""
        remaining = remaining_budget()
        if remaining is None or (timeout is not None and timeout <= remaining):
            return timeout
        return remaining
