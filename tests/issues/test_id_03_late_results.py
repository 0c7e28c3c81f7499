"""ID-03: a run that was frozen past its expiry does not overwrite the winner's result."""

from __future__ import annotations

import asyncio
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


async def test_what_the_winner_stored_stays(clock: Any) -> None:
    """The first run freezes, the second completes with B, the first resumes with A."""
    policy = Policy(
        idempotency=settings.Idempotency(
            key=("key",), in_progress=5.0, on_conflict="reject"
        )
    )
    gate = asyncio.Event()
    answers = ["A", "B", "C"]

    @policy
    async def charge(key: str) -> str:
        answer = answers.pop(0)
        if answer == "A":
            await gate.wait()
        return answer

    frozen = asyncio.create_task(charge("k"))
    await asyncio.sleep(0)
    clock.advance(6.0)
    assert await charge("k") == "B"
    gate.set()
    assert await frozen == "A"
    assert await charge("k") == "B"
    assert answers == ["C"]
