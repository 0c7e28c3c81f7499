"""``attempt_timeout``: the limit of one attempt."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import KEYWORD
from policyctl.model.scalars import Choice, Number


class AttemptTimeout(Settings):
    """Limits of one attempt, in seconds."""

    total: Annotated[float | Off | None, Number("attempt_timeout.total")] = setting(
        "The longest that one attempt may take, connecting included.", "5s", "250ms"
    )
    connect: Annotated[float | Off | None, Number("attempt_timeout.connect")] = setting(
        "The longest that connecting may take, within total.", "500ms"
    )
    first_item: Annotated[float | Off | None, Number("attempt_timeout.first_item")] = (
        setting("Streams: the longest wait for the first item.", "10s")
    )
    idle: Annotated[float | Off | None, Number("attempt_timeout.idle")] = setting(
        "Streams: the longest wait between two items.", "15s"
    )
    sync: Annotated[str | None, Choice(("thread", "cooperative"))] = setting(
        "How a synchronous call is bounded: thread runs it in a bounded worker thread, "
        "cooperative only sets the deadline for the callee to read.",
        "thread",
        "cooperative",
        by_default="thread; cooperative where argument is given",
    )
    argument: Annotated[str | None, KEYWORD] = setting(
        "Pass the attempt's limit in seconds as this keyword argument too, for clients "
        "that bound themselves; sync is then cooperative by default.",
        "timeout",
    )


def expand(value: object) -> dict[str, object]:
    """Expand the short form: ``5s`` is ``{total: 5s}``."""
    return {"total": value}


ATTEMPT_TIMEOUT = Block(AttemptTimeout, expand)
