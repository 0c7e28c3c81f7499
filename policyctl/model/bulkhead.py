"""``bulkhead``: how many attempts may run at once."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import Mode, Scope
from policyctl.model.scalars import Number


class InboundBulkhead(Settings):
    """Requests that a service handles at once."""

    max_concurrent: Annotated[int | Off | None, Number("bulkhead.max_concurrent")] = (
        setting("The most that run at once, in each process.", 10)
    )
    max_queue: Annotated[int | Off | None, Number("bulkhead.max_queue")] = setting(
        "The most that wait for a slot; one more is rejected at once.",
        20,
        by_default="max_concurrent",
    )
    max_wait: Annotated[float | Off | None, Number("bulkhead.max_wait")] = setting(
        "The longest wait for a slot; 0s tries once. It never cuts a running call.",
        "50ms",
        default="0s",
    )
    mode: Mode = setting(
        "observe counts would-be rejections and rejects nobody.",
        "enforce",
        "observe",
        "disabled",
        default="enforce",
    )


class Bulkhead(InboundBulkhead):
    """Attempts that run at once."""

    scope: Scope = setting(
        "What shares one bulkhead: each operation, the service, or each value of an "
        "argument.",
        "operation",
        "service",
        "argument:tenant",
        default="operation",
    )
    max_keys: Annotated[int | Off | None, Number("bulkhead.max_keys")] = setting(
        "Argument scope: the most bulkheads kept; idle ones go first.",
        1000,
        default=1000,
    )


BULKHEAD = Block(Bulkhead)
