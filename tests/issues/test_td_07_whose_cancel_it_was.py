"""TD-07: a caller tells its own cancel from the policy's timeout."""

from __future__ import annotations

import asyncio

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import AttemptTimeoutError, PolicyError
from policyctl.runtime.policy import Policy

policy = Policy(
    service="td07",
    attempt_timeout=settings.AttemptTimeout(total=0.05),
    circuit_breaker=settings.CircuitBreaker(record_on=("timeout",)),
)


@policy
async def hang() -> None:
    """Never ends by itself."""
    await asyncio.sleep(60)


async def test_the_callers_cancel_keeps_its_message() -> None:
    """A bare CancelledError, not counted by the breaker."""
    failures = policy.circuit_breaker.failures
    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    task.cancel("shutdown")
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.args == ("shutdown",)
    assert policy.circuit_breaker.failures == failures


async def test_our_timeout_is_our_error() -> None:
    """An AttemptTimeoutError that is a TimeoutError and names the limit."""
    with pytest.raises(AttemptTimeoutError, match=r"after 0\.05 s") as caught:
        await hang()
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, PolicyError)
    assert caught.value.timeout == 0.05


async def test_if_both_happen_the_callers_cancel_wins() -> None:
    """The function holds our cancel back until the caller has cancelled too."""
    cancelled, gate = asyncio.Event(), asyncio.Event()

    @policy
    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            await gate.wait()
            raise

    task = asyncio.create_task(stubborn())
    await cancelled.wait()
    task.cancel("shutdown")
    with pytest.raises(asyncio.CancelledError):
        await task
