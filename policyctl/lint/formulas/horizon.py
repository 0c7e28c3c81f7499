"""F4 and F22: how long a handler runs, and how late a duplicate can come."""

from __future__ import annotations

import math
from collections.abc import Iterable

from policyctl.resolve.policy import Backoff, Queue
from policyctl.resolve.worst_case import longest_waits

CallTime = tuple[float, float, bool]


def handler_time(calls: Iterable[CallTime]) -> float:
    """F4: the longest time of a request that makes these calls, without own work.

    Each call is (seconds, times per request, whether it runs beside the other parallel
    ones). Sequential calls add up; of the parallel ones the longest counts. A fraction
    of a call per request is one call in the worst case.
    """
    sequential, parallel = 0.0, 0.0
    for seconds, times, beside in calls:
        whole = math.ceil(times)
        if whole == 0:
            continue
        if beside:
            parallel = max(parallel, seconds)
        else:
            sequential += whole * seconds
    return sequential + parallel


def redelivery_horizon(queue: Queue) -> float:
    """F22: seconds until the last possible delivery of one item ends.

    ``max_deliveries`` leases and the waits between them; infinite without a limit.
    ``max_age`` ends it earlier.
    """
    if queue.max_deliveries is None:
        last = math.inf
    else:
        waits = longest_waits(as_backoff(queue), queue.max_deliveries - 1)
        last = queue.max_deliveries * queue.lease + waits
    return last if queue.max_age is None else min(last, queue.max_age + queue.lease)


def as_backoff(queue: Queue) -> Backoff:
    """The waits between deliveries in the form that calls use."""
    waits = queue.redelivery
    return Backoff(waits.initial, waits.multiplier, waits.max, waits.jitter)
