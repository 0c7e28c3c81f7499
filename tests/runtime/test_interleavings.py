"""C6, C10, C20, C22: the whole stack under seeded interleavings and cancels anywhere.

Every round makes a policy, starts calls whose functions succeed, fail, hang or clean up
slowly, cancels some of them between any two steps of the loop, and then asks that
nothing is left: no slot, no permit, no waiter, no armed limit, no cancel request.
"""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

import pytest

from policyctl.runtime import settings, timer
from policyctl.runtime.errors import PolicyError
from policyctl.runtime.policy import Policy

NOW = settings.Backoff(initial=0.0, max=0.0)

ROUNDS = int(os.environ.get("POLICYCTL_FUZZ_ROUNDS", "10000"))
WHOLE_ROUNDS = int(os.environ.get("POLICYCTL_FUZZ_ROUNDS", "1500"))
"""Rounds through all patterns at once, which take longer each."""


class Round:
    """One policy, its calls, and what must hold of them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.permits = chance.randint(1, 3)
        self.slots = chance.randint(1, 3)
        self.inside = self.most = 0
        self.clock = 0.0
        self.policy = self._policy()

    def _policy(self) -> Policy:
        chance = self.chance
        blocks: dict[str, Any] = {
            "circuit_breaker": settings.CircuitBreaker(
                failure_threshold=chance.randint(1, 3),
                recovery_timeout=settings.Recovery(initial=0.0005, jitter=0.0),
                half_open_max_calls=self.permits,
                success_threshold=chance.randint(1, 2),
            )
        }
        if chance.random() < 0.7:
            blocks["bulkhead"] = settings.Bulkhead(
                max_concurrent=self.slots,
                max_queue=chance.choice([0, 1, 5]),
                max_wait=chance.choice([0.0, 0.001, 5.0]),
            )
        if chance.random() < 0.6:
            blocks["retry"] = settings.Retry(
                max_attempts=3, backoff=NOW, retry_on=("ConnectionError", "timeout")
            )
        if chance.random() < 0.6:
            blocks["attempt_timeout"] = settings.AttemptTimeout(
                total=chance.choice([0.001, 5.0])
            )
        if chance.random() < 0.3:
            blocks["budget"] = settings.Budget(total=chance.choice([0.002, 9.0]))
        if chance.random() < 0.3:
            blocks["fallback"] = settings.FallbackValue(value=None)
        return Policy(**blocks)

    async def work(self, kind: str) -> str:
        """What is guarded."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            for _ in range(self.chance.randint(0, 2)):
                await asyncio.sleep(0)
            if kind == "fail":
                raise ConnectionError
            if kind == "hang":
                await asyncio.sleep(0.003)
            if kind == "stubborn":
                try:
                    await asyncio.sleep(0.002)
                finally:
                    await asyncio.sleep(0)
            return kind
        finally:
            self.inside -= 1

    async def run(self) -> None:
        """Start, cancel, wait; then look for what is left."""
        chance = self.chance
        kinds = ["ok", "ok", "fail", "fail", "hang", "stubborn"]
        guarded = self.policy(self.work)
        tasks: list[asyncio.Task[str]] = []
        for _ in range(chance.randint(2, 8)):
            kind = chance.choice(kinds)
            call = guarded if chance.random() < 0.5 else self._by_call
            tasks.append(asyncio.create_task(call(kind)))
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(0)
            if chance.random() < 0.3:
                chance.choice(tasks).cancel()
            if chance.random() < 0.1:
                await asyncio.sleep(0.001)
        results = await asyncio.wait_for(
            asyncio.gather(*tasks, return_exceptions=True), 10
        )
        self._check(results)

    async def _by_call(self, kind: str) -> str:
        return await self.policy.call(self.work, kind)

    def _check(self, results: list[str | BaseException]) -> None:
        for result in results:
            assert result is None or isinstance(
                result,
                (str, ConnectionError, asyncio.CancelledError, PolicyError),
            )
        policy = self.policy
        assert policy.gate.in_use == 0
        breaker = policy.breaker
        assert breaker is not None
        assert breaker._permits == {}
        assert all(wheel.running == [] for wheel in timer._WHEELS.values())
        if policy.waiters is not None:
            assert policy.waiters.queue == []
            assert self.most <= self.slots


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_is_left(seed: int) -> None:
    """250 rounds for each seed, or what POLICYCTL_FUZZ_ROUNDS says in all."""
    chance = random.Random(seed)
    for _ in range(WHOLE_ROUNDS // 6):
        await Round(chance).run()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("permits", [1, 2])
async def test_probes_cancelled_anywhere(permits: int) -> None:
    """CB-04: whenever a probe is cancelled, the permit comes back and others follow."""
    chance = random.Random(permits)
    breaker = settings.CircuitBreaker(
        failure_threshold=1,
        half_open_max_calls=permits,
        success_threshold=1,
        recovery_timeout=settings.Recovery(initial=1e-9, jitter=0.0),
    )
    for _ in range(ROUNDS // 2):
        policy = Policy(circuit_breaker=breaker)
        inside, most = [0], [0]

        async def probe(
            inside: list[int] = inside, most: list[int] = most, wait: bool = True
        ) -> None:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            try:
                for _ in range(3 if wait else 0):
                    await asyncio.sleep(0)
            finally:
                inside[0] -= 1

        async def fail() -> None:
            raise OSError

        with pytest.raises(OSError):
            await policy.call(fail)
        tasks = [asyncio.create_task(policy.call(probe)) for _ in range(4)]
        for _ in range(chance.randint(0, 4)):
            await asyncio.sleep(0)
        for task in tasks:
            if chance.random() < 0.7:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most[0] <= permits
        assert policy.breaker is not None
        assert policy.breaker._permits == {}
        await policy.call(probe, wait=False)
        assert policy.circuit_breaker.state == "closed"
        assert policy.gate.count == 0
