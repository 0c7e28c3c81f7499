"""CB-22: making another breaker on live state wrote closed into it.

https://github.com/danielfm/pybreaker/issues/26 and
https://github.com/danielfm/pybreaker/issues/24. A module that is imported again is in
``test_cb_21_one_name_one_breaker.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy
from policyctl.runtime.reload.change import change_policy

BREAKER = settings.CircuitBreaker(
    failure_threshold=1, recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0)
)


def fail() -> None:
    """What a callee in trouble does."""
    raise TimeoutError


def make(**changes: Any) -> Policy:
    """The same policy, defined anew."""
    return Policy(
        service="cb22", operation="call", circuit_breaker=BREAKER.replace(**changes)
    )


def opened(clock: Any) -> Policy:
    """One whose circuit has been open for 10 of its 30 seconds."""
    policy = make()
    with pytest.raises(TimeoutError):
        policy.call(fail)
    clock.advance(10.0)
    return policy


def test_a_second_policy_and_wrapper_change_nothing(clock: Any) -> None:
    """Still open, with the same time remaining, and closed to the new wrapper too."""
    opened(clock)
    again = make()
    with pytest.raises(CircuitOpenError) as caught:
        again(fail)()
    assert caught.value.retry_after == 20.0


def test_reloaded_settings_change_nothing_that_is_counted(clock: Any) -> None:
    """The same settings, and others, are put in force: the break goes on as it was."""
    policy = opened(clock)
    for threshold in (1, 7):
        blocks = {"circuit_breaker": BREAKER.replace(failure_threshold=threshold)}
        change_policy(policy, blocks, set())
        assert policy.circuit_breaker.state == "open"
        assert policy.circuit_breaker.retry_after == 20.0
    clock.advance(20.0)
    assert policy.circuit_breaker.state == "half_open"


def test_a_forgotten_name_starts_anew(clock: Any) -> None:
    """Only who says so gets a new state: ``registry.forget``, or ``reset`` in place."""
    from policyctl.runtime.registry import registry

    policy = opened(clock)
    registry.forget("cb22.call")
    assert make().circuit_breaker.state == "closed"
    assert policy.circuit_breaker.state == "open"
    policy.circuit_breaker.reset()
    assert policy.circuit_breaker.state == "closed"
