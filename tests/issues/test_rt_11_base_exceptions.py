"""RT-11: Ctrl-C, exit and cancellation are nobody's failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]
)
async def test_base_exceptions_pass_through_the_whole_stack(
    form: Any, script: Any, clock: Any, kind: type[BaseException]
) -> None:
    """One entry, the same object out, nothing counted, the slot free, no fallback."""
    everything = ("BaseException",)
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=5.0, sync="cooperative"),
        budget=settings.Budget(total=15.0),
        retry=settings.Retry(retry_on=everything),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1, record_on=everything
        ),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        fallback=settings.FallbackValue(value="no", fallback_on=everything),
    )
    error = kind()
    function = script(error)
    call = form.guard(policy, function)
    raised: BaseException | None = None
    try:
        await call()
    except BaseException as caught:
        raised = caught
    assert raised is error
    assert function.entries == 1
    assert policy.circuit_breaker.failures == 0
    assert policy.circuit_breaker.state == "closed"
    assert policy.bulkhead.in_use == 0
    assert clock.slept == []
