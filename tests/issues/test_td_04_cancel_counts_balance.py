"""TD-04: our own cancels are taken back."""

from __future__ import annotations

import asyncio

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


async def test_a_timeout_that_was_retried_leaves_no_cancel_request() -> None:
    """After two timeouts and a success the task counts as not cancelling."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=0.02),
        budget=settings.Budget(total=5.0),
        retry=settings.Retry(
            retry_on=("timeout",), backoff=settings.Backoff(initial=0.0, max=0.0)
        ),
    )
    entries = 0

    @policy
    async def call() -> str:
        nonlocal entries
        entries += 1
        if entries < 3:
            await asyncio.sleep(60)
        return "ok"

    other: list[int] = []

    async def sibling() -> None:
        for number in range(10):
            await asyncio.sleep(0.005)
            other.append(number)

    async with asyncio.TaskGroup() as group:
        group.create_task(sibling())
        async with asyncio.timeout(30):
            assert await call() == "ok"
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
    assert entries == 3
    assert len(other) == 10
