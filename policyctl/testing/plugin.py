"""Pytest fixtures; ``pytest_plugins = ["policyctl.testing.plugin"]`` turns them on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from policyctl.testing.clocks import FakeClock, NoSleepClock
from policyctl.testing.events import EventRecorder
from policyctl.testing.state import fresh_policies


@pytest.fixture
def policy_clock() -> Iterator[FakeClock]:
    """A fake clock in force for the test; ``policy_clock.advance(30)`` moves it."""
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def policy_no_sleep() -> Iterator[NoSleepClock]:
    """Real time without waiting: back-off and waits count but take no time."""
    with NoSleepClock() as clock:
        yield clock


@pytest.fixture
def policy_events() -> Iterator[EventRecorder]:
    """Every event of guarded calls during the test."""
    with EventRecorder() as events:
        yield events


@pytest.fixture
def policies() -> Iterator[None]:
    """Every named policy as at the start of a process, before and after the test."""
    with fresh_policies():
        yield
