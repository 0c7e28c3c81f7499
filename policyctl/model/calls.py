"""``calls``: the edges of the call graph."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, required, setting
from policyctl.model.kinds import OPERATION_NAME
from policyctl.model.patterns import Patterns
from policyctl.model.scalars import Choice, Number


class Call(Settings):
    """What is called for each request."""

    to: Annotated[str, OPERATION_NAME] = required(
        "The operation that is called, as service.operation.", "ledger_api.post_entry"
    )
    per_request: Annotated[float | Off | None, Number("calls.per_request")] = setting(
        "Calls for each request; may be a fraction.", 1, 0.2, default=1
    )
    mode: Annotated[str | None, Choice(("sequential", "parallel", "detached"))] = (
        setting(
            "Whether the request waits for it: one after the other, beside others, or not at "
            "all.",
            "sequential",
            "parallel",
            "detached",
            default="sequential",
        )
    )
    override: Annotated[Patterns | Off | None, Block(Patterns)] = setting(
        "This caller's own settings for that operation.",
        {"attempt_timeout": "300ms", "retry": "off"},
    )
