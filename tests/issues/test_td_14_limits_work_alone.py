"""TD-14: an attempt timeout without a budget, and a budget without one."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import AttemptTimeoutError, BudgetExhaustedError
from policyctl.runtime.policy import Policy


async def run(policy: Policy, is_async: bool) -> tuple[BaseException, int, float]:
    """What a call of half a second comes to, with entries and duration."""
    entries = 0

    @policy
    async def slow() -> None:
        nonlocal entries
        entries += 1
        await asyncio.sleep(0.5)

    @policy
    def blocking() -> None:
        nonlocal entries
        entries += 1
        time.sleep(0.5)

    start = time.monotonic()
    try:
        await slow() if is_async else blocking()
    except TimeoutError as error:
        return error, entries, time.monotonic() - start
    pytest.fail("nothing was cut")


@pytest.mark.timing
async def test_an_attempt_timeout_alone_cuts_every_attempt(form: Any) -> None:
    """Two attempts of 0.1 s each, both cut."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=0.1),
        retry=settings.Retry(
            max_attempts=2,
            retry_on=("timeout",),
            backoff=settings.Backoff(initial=0.0, max=0.0),
        ),
    )
    error, entries, duration = await run(policy, form.is_async)
    assert isinstance(error, AttemptTimeoutError)
    assert entries == 2
    assert 0.19 < duration < 0.45


@pytest.mark.timing
async def test_a_budget_alone_cuts_the_call() -> None:
    """No attempt timeout is needed for a budget to hold."""
    policy = Policy(budget=settings.Budget(total=0.1))
    error, entries, duration = await run(policy, True)
    assert isinstance(error, BudgetExhaustedError)
    assert entries == 1
    assert 0.09 < duration < 0.4
