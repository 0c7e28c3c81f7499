"""``fallback``: what is answered when everything else has failed."""

from __future__ import annotations

from typing import Annotated, Any

from policyctl.model.fields import Anything, Block, Settings, setting
from policyctl.model.kinds import OPERATION, Callable, Rejections


class Fallback(Settings):
    """One of a fixed value, a function, or another operation."""

    value: Annotated[Any, Anything()] = setting(
        "A fixed answer, copied for each call; null is one too.", [], None
    )
    call: Callable = setting(
        "A function that gets the same arguments.", "my_app.fallbacks:cached_quote"
    )
    operation: Annotated[str | None, OPERATION] = setting(
        "Another operation, under its own policy.", "quotes_b.get"
    )
    fallback_on: Rejections = setting(
        "What the fallback answers for: exceptions, portable conditions, and circuit_open, "
        "bulkhead_full, rate_limited, budget_exhausted.",
        ["circuit_open", "timeout"],
        by_default="recorded failures, rejections and timeouts",
    )


FALLBACK = Block(Fallback)
