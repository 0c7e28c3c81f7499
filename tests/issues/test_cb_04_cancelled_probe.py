"""CB-04: a cancelled probe must not leave a permit held."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


@pytest.mark.parametrize("when", ["before", "inside", "after"])
async def test_a_cancelled_probe_gives_its_permit_back(clock: Any, when: str) -> None:
    """Wherever the cancel lands, nothing is counted and the next call is admitted."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
            success_threshold=1,
        )
    )
    inside, gate = asyncio.Event(), asyncio.Event()

    @policy
    async def call(fail: bool = False) -> str:
        if fail:
            raise TimeoutError
        inside.set()
        await gate.wait()
        return "ok"

    with pytest.raises(TimeoutError):
        await call(fail=True)
    clock.advance(30.0)
    probe = asyncio.create_task(call())
    if when != "before":
        await inside.wait()
    if when == "after":
        gate.set()
    probe.cancel("gone")
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert policy.circuit_breaker.state == "half_open"
    gate.set()
    assert await call() == "ok"
    assert policy.circuit_breaker.state == "closed"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_sync_probe_gives_its_permit_back(
    clock: Any, error: type[BaseException]
) -> None:
    """Ctrl-C in a probe is no verdict."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
        )
    )
    outcomes: list[type[BaseException] | None] = [TimeoutError, error, None]

    @policy
    def call() -> str:
        raised = outcomes.pop(0)
        if raised is not None:
            raise raised
        return "ok"

    with pytest.raises(TimeoutError):
        call()
    clock.advance(30.0)
    with pytest.raises(error):
        call()
    assert call() == "ok"
    assert policy.circuit_breaker.state == "half_open"
