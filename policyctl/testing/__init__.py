"""Help for tests of applications that use policies.

Context managers: ``fake_clock``, ``no_sleep``, ``record_events``. The same as pytest
fixtures: add ``pytest_plugins = ["policyctl.testing.plugin"]`` to the root conftest.py.
"""

from policyctl.testing.clocks import FakeClock, NoSleepClock, fake_clock, no_sleep
from policyctl.testing.events import EventRecorder, record_events

__all__ = [
    "EventRecorder",
    "FakeClock",
    "NoSleepClock",
    "fake_clock",
    "no_sleep",
    "record_events",
]
