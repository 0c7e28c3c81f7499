"""Instants that processes and machines share: whole microseconds since 1970.

Only what is kept for other processes uses them. While a test's clock is in force the
wall clock follows it.
"""

from __future__ import annotations

import time

from policyctl.runtime.clock import CLOCK

FAKE_EPOCH = 1_700_000_000
"""What 0 of a fake clock is, in seconds since 1970."""


def wall_micros() -> int:
    """Microseconds since 1970."""
    if CLOCK.real:
        return time.time_ns() // 1000
    return FAKE_EPOCH * 1_000_000 + round(CLOCK.now() * 1_000_000)
