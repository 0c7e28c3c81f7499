"""A hint without bounds: RT-09's kind for workers, as in crawlee-python PR 1995.

A server, or a proxy before it, that names a day in the next century must not stop an
upload worker for as long as that.
"""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from policyctl.runtime.queues.pace import LONGEST_HINT, Pace
from policyctl.runtime.queues.settings import Redelivery


def pace() -> Pace:
    """Of a worker that sends a batch every second."""
    return Pace(100, 1.0, Redelivery(), Random(7))


@pytest.mark.parametrize("hint", [LONGEST_HINT * 2, 2_592_000.0])
def test_a_worker_waits_an_hour_at_most_for_a_server(hint: float) -> None:
    """And somewhat longer, so that a fleet does not come back in one moment."""
    assert LONGEST_HINT <= pace().failed(hint) <= LONGEST_HINT * 1.25


@pytest.mark.parametrize("hint", [None, 0.0, inf])
def test_a_hint_that_names_no_time_leaves_the_workers_own_pause(
    hint: float | None,
) -> None:
    """Nothing, zero, and a server that asks for no retry: items are kept all the same."""
    assert pace().failed(hint) <= 10.0


def test_a_usual_hint_is_kept_to() -> None:
    """A minute is a minute, or a little more."""
    assert 60.0 <= pace().failed(60.0) <= 75.0
