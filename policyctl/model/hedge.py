"""``hedge``: a second attempt beside a slow first one."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.scalars import Number


class Hedge(Settings):
    """Another attempt while the first still runs; async and idempotent calls alone."""

    delay: Annotated[float | Off | None, Number("hedge.delay")] = setting(
        "Start another attempt when the first has not answered after this.", "200ms"
    )
    max_hedges: Annotated[int | None, Number("hedge.max_hedges", off=False)] = setting(
        "Further attempts beside the first.", 1, default=1
    )
    budget: Annotated[float | Off | None, Number("hedge.budget")] = setting(
        "Hedges as a share of calls.", "2%", default="2%"
    )


HEDGE = Block(Hedge)
