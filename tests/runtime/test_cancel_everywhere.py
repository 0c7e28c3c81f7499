"""A call is cancelled at each of its awaits, under every mix of patterns: nothing stays."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import DEADLINE, NO_DEADLINE
from policyctl.runtime.idempotency.forwarding import FORWARDED
from policyctl.runtime.outgoing import SENDING, outgoing_headers
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

EVERYTHING: dict[str, Any] = {
    "attempt_timeout": settings.AttemptTimeout(total=30.0),
    "budget": settings.Budget(
        total=60.0, header=settings.BudgetHeader(name="X-Timeout-Budget")
    ),
    "retry": settings.Retry(
        max_attempts=3,
        retry_on=("TimeoutError",),
        backoff=settings.Backoff(initial=0.0, max=0.0, jitter="none"),
        budget=settings.RetryBudget(burst=1000),
    ),
    "circuit_breaker": settings.CircuitBreaker(
        failure_threshold=1_000_000, record_on=("TimeoutError",)
    ),
    "rate_limit": settings.RateLimit(rate=1e-6, burst=1000),
    "bulkhead": settings.Bulkhead(max_concurrent=1, max_queue=10, max_wait=30.0),
    "idempotency": settings.Idempotency(
        key_call=lambda key: key, forward=settings.Forward(header="Idempotency-Key")
    ),
    "fallback": settings.FallbackValue(value="no", fallback_on=("circuit_open",)),
}
KEYED = {
    "circuit_breaker": settings.CircuitBreaker(
        scope="argument:key", failure_threshold=1_000_000
    ),
    "bulkhead": settings.Bulkhead(
        max_concurrent=1, scope="argument:key", max_wait=30.0
    ),
}
MIXES: dict[str, dict[str, Any]] = {
    "everything": EVERYTHING,
    "without a key": {**EVERYTHING, "idempotency": None},
    "fast": {
        name: EVERYTHING[name]
        for name in ("attempt_timeout", "retry", "circuit_breaker", "bulkhead")
    },
    "no retry": {**EVERYTHING, "retry": None, "idempotency": None},
    "hedged": {
        **EVERYTHING,
        "retry": None,
        "idempotency": None,
        "idempotent": True,
        "hedge": settings.Hedge(delay=0.0, budget=1.0),
    },
    "keyed": {**EVERYTHING, **KEYED},
}


@pytest.mark.parametrize("mix", MIXES)
async def test_nothing_stays_of_a_cancelled_call(mix: str) -> None:
    """Slot, token, key and context are as before, and a call beside it is served."""
    blocks = {name: block for name, block in MIXES[mix].items() if block is not None}
    policy = Policy(service="cancel", operation="everywhere", **blocks)
    registry.forget("cancel.everywhere")
    entries = itertools.count()

    @policy
    async def work(key: str) -> str:
        number = next(entries)
        outgoing_headers()
        await asyncio.sleep(0)
        if number % 3 == 0:
            raise TimeoutError
        try:
            await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
        return key

    for steps in range(40):
        context = contextvars.copy_context()
        task = asyncio.create_task(_call(work, f"a{steps}"), context=context)
        beside = asyncio.create_task(_call(work, f"b{steps}"))
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.cancel("gone"):
            with pytest.raises(asyncio.CancelledError, match="gone"):
                await task
        try:
            assert await asyncio.wait_for(beside, 30) == f"b{steps}"
        except TimeoutError:
            assert beside.done()
        await _until_idle(policy)
        assert context.get(DEADLINE, NO_DEADLINE) == NO_DEADLINE
        assert context.get(SENDING) is None
        assert context.get(FORWARDED) is None
        assert policy.bulkhead.waiting == 0
        # Another call with the key of the cancelled one runs, or gets its outcome.
        try:
            assert await asyncio.wait_for(_call(work, f"a{steps}"), 30) == f"a{steps}"
        except TimeoutError:
            continue


async def _call(work: Any, key: str) -> Any:
    return await work(key)


async def _until_idle(policy: Policy) -> None:
    """Losing hedges end a step or two after their call."""
    for _ in range(1000):
        if policy.gate.in_use == 0 and policy.bulkhead.in_use == 0:
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"{policy.gate.in_use} attempts are inside")
