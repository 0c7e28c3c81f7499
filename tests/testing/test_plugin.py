"""The pytest fixtures, in a pytest run of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SUITE = '''
"""A user's suite."""
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.events import EVENTS
from policyctl.runtime.policy import Policy
from policyctl.runtime.settings import CircuitBreaker


def test_clock(policy_clock):
    policy_clock.advance(30)
    assert CLOCK.now() == 1030.0


def test_events(policy_events):
    EVENTS.emit("retry", "a", "b")
    assert policy_events.kinds == ["retry"]


def test_no_sleep(policy_no_sleep):
    CLOCK.sleep(1000)
    assert policy_no_sleep.slept == [1000]


BEFORE = EVENTS.listeners
POLICY = Policy(
    service="plugin_api", operation="call", circuit_breaker=CircuitBreaker()
)


def test_opened(policies):
    POLICY.circuit_breaker.force_open()


def test_closed_again():
    assert POLICY.circuit_breaker.state == "closed"


def test_all_is_put_back():
    assert CLOCK.real
    assert EVENTS.listeners == BEFORE
'''


def test_fixtures_come_with_one_line_in_conftest(pytester: pytest.Pytester) -> None:
    """A suite that names the plugin gets its fixtures, each undone after its test."""
    pytester.makeconftest('pytest_plugins = ["policyctl.testing.plugin"]')
    pytester.makepyfile(SUITE)
    pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:asyncio"
    ).assert_outcomes(passed=6)
