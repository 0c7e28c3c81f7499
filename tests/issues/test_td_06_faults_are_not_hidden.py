"""TD-06: an error that is raised when the limit had passed comes out as itself."""

from __future__ import annotations

import asyncio

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import AttemptTimeoutError
from policyctl.runtime.policy import Policy


async def test_another_exception_raised_on_our_cancel_is_the_outcome() -> None:
    """ValueError out of the clean-up: not retried as a timeout, not renamed."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=0.02),
        retry=settings.Retry(retry_on=("timeout",)),
        circuit_breaker=settings.CircuitBreaker(
            record_on=("timeout",), failure_threshold=1
        ),
    )
    entries = 0

    @policy
    async def call() -> None:
        nonlocal entries
        entries += 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("broken state") from None

    with pytest.raises(ValueError, match="broken state"):
        await call()
    assert entries == 1
    assert policy.circuit_breaker.state == "closed"


async def test_an_error_before_the_limit_is_never_a_timeout() -> None:
    """A TimeoutError of the function itself stays the object that it is."""
    policy = Policy(attempt_timeout=settings.AttemptTimeout(total=5.0))
    error = TimeoutError("mine")

    @policy
    async def call() -> None:
        raise error

    with pytest.raises(TimeoutError) as caught:
        await call()
    assert caught.value is error
    assert not isinstance(caught.value, AttemptTimeoutError)
