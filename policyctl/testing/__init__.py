"""Help for tests of applications that use policies.

Context managers: ``fake_clock``, ``no_sleep``, ``record_events``, ``fresh_policies``. The
same as pytest fixtures: add ``pytest_plugins = ["policyctl.testing.plugin"]`` to the root conftest.py.
"""

from policyctl.testing.clocks import FakeClock, NoSleepClock, fake_clock, no_sleep
from policyctl.testing.events import EventRecorder, record_events
from policyctl.testing.state import fresh_policies, reset_policies

__all__ = [
    "EventRecorder",
    "FakeClock",
    "NoSleepClock",
    "fake_clock",
    "fresh_policies",
    "no_sleep",
    "record_events",
    "reset_policies",
]
