"""The two clocks of queues.

Leases and delays end by the monotonic clock, which all processes of a machine share and
which only a restart of the machine sets back. Ages are told by the wall clock, since
they go on over restarts. With a fake clock in force the wall clock follows it.
"""

from __future__ import annotations

import time

from policyctl.runtime.clock import CLOCK

FAKE_EPOCH = 1_700_000_000.0
"""What 0 of a fake clock is, in seconds since 1970."""


def wall() -> float:
    """Seconds since 1970."""
    return time.time() if CLOCK.real else FAKE_EPOCH + CLOCK.now()
