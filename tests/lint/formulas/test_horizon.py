"""F4 and F22 against a walk through the worst case."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from policyctl.lint.formulas.horizon import as_backoff, handler_time, redelivery_horizon
from policyctl.lint.testing import load_yaml

QUEUE = (
    load_yaml(
        "version: 1\nservice: worker\nqueues:\n  jobs:\n    store: sqlite\n"
        "    path: jobs.db\n    max_size: 10\n    lease: 30s\n"
        "    redelivery: {initial: 2s, multiplier: 2, max: 20s, jitter: none}\n"
    )
    .services["worker"]
    .queues["jobs"]
)


def test_handler_time() -> None:
    """Sequential calls add up, the longest parallel one counts, fractions are one."""
    assert handler_time([(2.0, 1.0, False), (3.0, 2.0, False)]) == 8.0
    assert handler_time([(2.0, 1.0, True), (5.0, 1.0, True), (1.0, 1.0, False)]) == 6.0
    assert handler_time([(2.0, 0.2, False), (9.0, 0.0, False)]) == 2.0
    assert handler_time([]) == 0.0


@given(st.integers(1, 12), st.integers(1, 600) | st.none())
def test_horizon_by_walking(deliveries: int, age: int | None) -> None:
    """The end of the last delivery, lease by lease and wait by wait."""
    now, wait = 0.0, 2.0
    for number in range(deliveries):
        if number:
            now += min(20.0, wait)
            wait *= 2
        now += 30.0
    queue = replace(QUEUE, max_deliveries=deliveries, max_age=age)
    expected = now if age is None else min(now, age + 30.0)
    assert math.isclose(redelivery_horizon(queue), expected)


def test_unlimited_deliveries() -> None:
    """Without a limit only the age ends it."""
    assert redelivery_horizon(replace(QUEUE, max_deliveries=None)) == math.inf
    assert redelivery_horizon(replace(QUEUE, max_deliveries=None, max_age=60.0)) == 90.0


def test_waits_of_a_queue_in_the_form_of_a_call() -> None:
    """The numbers carry over one to one."""
    backoff = as_backoff(QUEUE)
    assert (backoff.initial, backoff.multiplier, backoff.max) == (2.0, 2.0, 20.0)
    assert backoff.jitter.kind == "none"
