"""Memory and lifetime: nothing grows with calls, and cost does not grow with company."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
import weakref
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

NOW = settings.Backoff(initial=0.0, max=0.0)


def _policy() -> Policy:
    return Policy(
        attempt_timeout=settings.AttemptTimeout(total=5.0),
        budget=settings.Budget(total=9.0),
        retry=settings.Retry(backoff=NOW, retry_on=("ConnectionError",)),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=50,
            failure_ratio=0.9,
            window=settings.Window(seconds=0.05),
        ),
        bulkhead=settings.Bulkhead(max_concurrent=4, max_wait=1.0),
    )


async def _mixed(policy: Policy, rounds: int) -> None:
    calls = [0]

    async def work(number: int) -> int:
        calls[0] += 1
        if calls[0] % 7 == 0:
            raise ConnectionError
        if calls[0] % 11 == 0:
            await asyncio.sleep(0)
        return number

    guarded = policy(work)
    for number in range(rounds):
        await asyncio.gather(*(guarded(number) for _ in range(6)))


async def test_memory_does_not_grow_with_calls() -> None:
    """Thousands of calls of all kinds leave no more than the first hundreds did."""
    policy = _policy()
    tracemalloc.start()
    try:
        await _mixed(policy, 500)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await _mixed(policy, 1000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 50_000  # 6,000 calls; 9 bytes for each would be over it
    assert policy.gate.in_use == 0


async def test_success_makes_no_garbage() -> None:
    """Successful calls leave nothing for the cycle collector."""
    policy = _policy()

    async def work() -> int:
        return 1

    guarded = policy(work)
    await guarded()
    gc.collect()
    gc.disable()
    try:
        for _ in range(2000):
            await guarded()
        assert gc.collect() < 20
    finally:
        gc.enable()


def test_a_policy_at_rest_is_small() -> None:
    """Five patterns take less than 2 KiB a policy, its name and place included."""
    names = [f"small.operation_{number}" for number in range(300)]

    def make(first: int, last: int) -> None:
        for name in names[first:last]:
            service, _, operation = name.partition(".")
            Policy(
                service=service,
                operation=operation,
                attempt_timeout=settings.AttemptTimeout(total=5.0),
                budget=settings.Budget(total=9.0),
                retry=settings.Retry(retry_on=("ConnectionError",)),
                circuit_breaker=settings.CircuitBreaker(failure_threshold=5),
                bulkhead=settings.Bulkhead(max_concurrent=4),
            )

    try:
        make(0, 100)
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        make(100, 300)
        gc.collect()
        size = (tracemalloc.get_traced_memory()[0] - before) / 200
        tracemalloc.stop()
    finally:
        for name in names:
            registry.forget(name)
    assert size < 2048


def test_wrappers_go_with_their_functions() -> None:
    """A decorated closure that is dropped is freed, and its policy keeps working."""
    policy = _policy()

    class Big:
        """Something to keep alive."""

    def make() -> tuple[Any, Any]:
        big = Big()

        async def work() -> Big:
            return big

        return policy(work), weakref.ref(big)

    keep, _ = make()
    guarded, seen = make()
    assert seen() is not None
    del guarded
    gc.collect()
    assert seen() is None
    assert asyncio.run(keep()) is not None


def _cost(function: Any, rounds: int = 7, calls: int = 2000) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, time.perf_counter() - began)
    return best


@pytest.mark.timing
def test_cost_does_not_grow_with_policies_and_open_breakers() -> None:
    """A thousand other policies with open breakers do not slow a call down."""

    def make() -> Any:
        block = settings.CircuitBreaker(failure_threshold=1)
        policy = Policy(circuit_breaker=block)
        return policy, policy(lambda: 1)

    _, guarded = make()
    alone = _cost(guarded)
    others = [make() for _ in range(1000)]
    for policy, _ in others:
        policy.circuit_breaker.force_open()
    with pytest.raises(CircuitOpenError):
        others[0][1]()
    assert _cost(guarded) < 3 * alone


@pytest.mark.timing
async def test_cost_does_not_grow_with_calls_in_flight() -> None:
    """With 5,000 calls in flight another costs what it cost alone."""
    policy = Policy(attempt_timeout=settings.AttemptTimeout(total=60.0))

    async def work() -> int:
        return 1

    async def cost() -> float:
        best = float("inf")
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(1000):
                await guarded()
            best = min(best, time.perf_counter() - began)
        return best

    guarded = policy(work)
    alone = await cost()
    release = asyncio.Event()
    tasks = [asyncio.create_task(policy.call(release.wait)) for _ in range(5000)]
    await asyncio.sleep(0)
    crowded = await cost()
    release.set()
    await asyncio.gather(*tasks)
    assert crowded < 3 * alone
