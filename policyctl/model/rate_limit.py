"""``rate_limit``: how many attempts may start per time."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import Mode, Store
from policyctl.model.scalars import Number


class RateLimit(Settings):
    """A token bucket."""

    rate: Annotated[float | Off | None, Number("rate_limit.rate")] = setting(
        "Attempts per time in the long run.", "100/s", "600/m"
    )
    burst: Annotated[int | Off | None, Number("rate_limit.burst")] = setting(
        "Attempts that may start at once after a quiet time.",
        20,
        by_default="one second's worth",
    )
    max_wait: Annotated[float | Off | None, Number("rate_limit.max_wait")] = setting(
        "The longest wait for a token; 0s rejects at once.", "0s", default="0s"
    )
    store: Store = setting(
        "Where its state lives: in each process, or shared in Redis.",
        "memory",
        "redis",
        default="memory",
    )
    mode: Mode = setting(
        "observe counts would-be rejections and rejects nobody.",
        "enforce",
        "observe",
        "disabled",
        default="enforce",
    )


RATE_LIMIT = Block(RateLimit)
