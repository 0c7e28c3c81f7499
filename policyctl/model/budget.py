"""``budget``: the limit of the whole call, and how it travels."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import HEADER
from policyctl.model.scalars import Choice, Flag, Number


class BudgetHeader(Settings):
    """A header that carries the remaining budget."""

    name: Annotated[str | None, HEADER] = setting(
        "The header's name.", "X-Timeout-Budget"
    )
    unit: Annotated[str | None, Choice(("s", "ms"))] = setting(
        "The unit of its number: decimal seconds or milliseconds.",
        "s",
        "ms",
        default="s",
    )


class Budget(Settings):
    """The time that a whole call may take: attempts, waits and queueing, in seconds."""

    total: Annotated[float | Off | None, Number("budget.total")] = setting(
        "The longest that the whole call may take, with all its attempts and waits.",
        "15s",
    )
    inherit: Annotated[bool | None, Flag()] = setting(
        "Take the caller's remaining time where that is less; false starts afresh, for "
        "detached work.",
        True,
        default=True,
    )
    reserve: Annotated[float | Off | None, Number("budget.reserve")] = setting(
        "Time kept back from what is passed on to the callee.", "200ms", default="0s"
    )
    minimum: Annotated[float | Off | None, Number("budget.minimum")] = setting(
        "With less than this left the call fails at once and nothing is called.",
        "1s",
        default="0s",
    )
    header: Annotated[BudgetHeader | Off | None, Block(BudgetHeader)] = setting(
        "The header that tells the callee how much time is left.",
        {"name": "X-Timeout-Budget", "unit": "s"},
    )


def expand(value: object) -> dict[str, object]:
    """Expand the short form: ``15s`` is ``{total: 15s}``."""
    return {"total": value}


BUDGET = Block(Budget, expand)
