"""``inbound``: the protection of a service as a server."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.budget import BudgetHeader
from policyctl.model.bulkhead import InboundBulkhead
from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.rate_limit import RATE_LIMIT, RateLimit
from policyctl.model.scalars import Number


class InboundBudget(Settings):
    """How much time a request gets."""

    default: Annotated[float | Off | None, Number("budget.default")] = setting(
        "What a request gets that names no budget.", "10s"
    )
    max: Annotated[float | Off | None, Number("budget.max")] = setting(
        "The most that a request may ask for.", "30s"
    )
    header: Annotated[BudgetHeader | Off | None, Block(BudgetHeader)] = setting(
        "The header that a caller tells its remaining time in.",
        {"name": "X-Timeout-Budget", "unit": "s"},
    )


class Inbound(Settings):
    """Limits on what a service accepts."""

    bulkhead: Annotated[InboundBulkhead | Off | None, Block(InboundBulkhead)] = setting(
        "How many requests are handled at once.",
        {"max_concurrent": 20, "max_queue": 40, "max_wait": "50ms"},
    )
    rate_limit: Annotated[RateLimit | Off | None, RATE_LIMIT] = setting(
        "How many requests are accepted per time.", {"rate": "500/s"}
    )
    budget: Annotated[InboundBudget | Off | None, Block(InboundBudget)] = setting(
        "How much time a request gets.",
        {
            "default": "10s",
            "max": "30s",
            "header": {"name": "X-Timeout-Budget", "unit": "s"},
        },
    )
