"""CB-02: many callers notice at once that the break has elapsed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy


def make() -> Policy:
    """A breaker that opens on one failure and admits two probes."""
    return Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
            half_open_max_calls=2,
        ),
    )


def one_round_of_threads(clock: Any) -> tuple[int, int]:
    """Entries and refusals of 32 threads that start the moment the break ends."""
    entries: list[int] = []
    refused: list[CircuitOpenError] = []
    gate, start = threading.Event(), threading.Barrier(32, timeout=60)

    @make()
    def call(fail: bool = False) -> None:
        if fail:
            raise TimeoutError
        entries.append(1)
        gate.wait(60)

    def caller() -> None:
        start.wait()
        try:
            call()
        except CircuitOpenError as error:
            refused.append(error)
            if len(refused) == 30:
                gate.set()

    try:
        call(fail=True)
    except TimeoutError:
        clock.advance(30.0)
    threads = [threading.Thread(target=caller, daemon=True) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(entries), len(refused)


def test_threads_share_the_probe_permits(clock: Any) -> None:
    """Of 32 threads that start the moment the break ends, two run, thirty are refused."""
    assert {one_round_of_threads(clock) for _ in range(50)} == {(2, 30)}


async def one_round_of_tasks(clock: Any) -> tuple[int, int]:
    """Entries and refusals of 32 tasks of one loop."""
    entries: list[int] = []

    @make()
    async def call(fail: bool = False) -> None:
        if fail:
            raise TimeoutError
        entries.append(1)
        for _ in range(3):
            await asyncio.sleep(0)

    try:
        await call(fail=True)
    except TimeoutError:
        clock.advance(30.0)
    calls = (call() for _ in range(32))
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    return len(entries), sum(isinstance(o, CircuitOpenError) for o in outcomes)


async def test_tasks_share_the_probe_permits(clock: Any) -> None:
    """The same with 32 tasks of one loop."""
    assert {await one_round_of_tasks(clock) for _ in range(20)} == {(2, 30)}
