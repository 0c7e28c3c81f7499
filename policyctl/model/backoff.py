"""Back-off between attempts or deliveries, and its jitter."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting, show_value
from policyctl.model.kinds import JITTERS
from policyctl.model.scalars import CheckError, Choice, Number, near_hint


class Jitter(Settings):
    """How delays are spread; ``ratio`` counts where ``kind`` is ``ratio``."""

    kind: Annotated[str | None, Choice((*JITTERS, "ratio"), off=False)] = setting(
        "How a delay is spread: full is anything up to it, equal at least half of it, "
        "decorrelated grows from the previous one, ratio is plus or minus a share.",
        "full",
        "equal",
        "decorrelated",
        "none",
        "ratio",
    )
    ratio: Annotated[float | None, Number("retry.backoff.jitter.ratio", off=False)] = (
        setting(
            "The share that a delay may deviate by, where kind is ratio.", "20%", 0.2
        )
    )


def expand_jitter(value: object) -> dict[str, object]:
    """Expand the short form: ``full`` is a kind, ``20%`` or ``0.2`` a ratio."""
    if isinstance(value, bool) or (isinstance(value, str) and not value[:1].isdigit()):
        if isinstance(value, str) and value in JITTERS:
            return {"kind": value}
        otherwise = f"write {', '.join(JITTERS)} or a ratio such as 20%"
        raise CheckError(
            "invalid-choice",
            f"{show_value(value)} is not a jitter",
            lambda: near_hint(value, JITTERS, otherwise),
        )
    return {"kind": "ratio", "ratio": value}


JITTER = Block(Jitter, expand_jitter)


class Backoff(Settings):
    """Delay before retry i: min(max, initial x multiplier^(i-1)), then jitter."""

    initial: Annotated[float | Off | None, Number("retry.backoff.initial")] = setting(
        "The delay before the first retry.", "100ms", default="100ms"
    )
    multiplier: Annotated[float | Off | None, Number("retry.backoff.multiplier")] = (
        setting("What each delay is multiplied by to give the next.", 2, default=2)
    )
    max: Annotated[float | Off | None, Number("retry.backoff.max")] = setting(
        "No delay is longer than this.", "5s", default="5s"
    )
    jitter: Annotated[Jitter | Off | None, JITTER] = setting(
        "How delays are spread, so that clients do not retry in step: none, full, equal, "
        "decorrelated, or a ratio for plus or minus that share.",
        "full",
        "20%",
        default="full",
    )


class Redelivery(Backoff):
    """Back-off between two deliveries of one item."""

    initial: Annotated[float | Off | None, Number("redelivery.initial")] = setting(
        "The delay before the second delivery.", "5s", default="1s"
    )
    max: Annotated[float | Off | None, Number("redelivery.max")] = setting(
        "No delay is longer than this.", "5m", default="5m"
    )
