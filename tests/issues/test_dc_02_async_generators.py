"""DC-02: the whole protocol of async generators, with clean-up before control returns."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.testing import FakeClock

Source = Callable[[], AsyncGenerator[int, Any]]


def make(log: list[Any]) -> tuple[Policy, Source]:
    """A guarded stream that is the one probe of a half-open breaker, in the one slot."""
    policy = Policy(
        kind="stream",
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1,
            recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0),
            half_open_max_calls=1,
            success_threshold=1,
            record_on=("ConnectionError",),
        ),
        bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=0.0),
    )

    @policy
    async def stream() -> AsyncGenerator[int, Any]:
        if not log:
            log.append("opened")
            raise ConnectionError
        try:
            for number in range(100):
                log.append((yield number))
        except ValueError as error:
            log.append(str(error))
            raise
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    return policy, stream


async def open_then_probe(clock: FakeClock, stream: Source) -> None:
    """Open the breaker and wait until a probe may pass."""
    with pytest.raises(ConnectionError):
        await anext(stream())
    clock.advance(30.0)


async def check_free(policy: Policy, stream: Source, log: list[Any]) -> None:
    """Clean-up is over, and the slot and the permit are free for the next probe."""
    assert log[-1] == "closed"
    assert policy.bulkhead.in_use == 0
    assert policy.circuit_breaker.state == "half_open"
    assert [item async for item in stream()] == list(range(100))
    assert policy.circuit_breaker.state == "closed"


async def test_an_error_in_the_body_of_a_context_manager(clock: FakeClock) -> None:
    """The generator sees the error of the body, and nothing is held afterwards."""
    log: list[Any] = []
    policy, stream = make(log)
    await open_then_probe(clock, stream)
    with pytest.raises(ValueError, match="body"):
        async with contextlib.asynccontextmanager(stream)():
            raise ValueError("body")
    assert log == ["opened", "body", "closed"]
    await check_free(policy, stream, log)


async def test_an_early_break(clock: FakeClock) -> None:
    """Leaving the loop and closing runs the clean-up before the next line."""
    log: list[Any] = []
    policy, stream = make(log)
    await open_then_probe(clock, stream)
    async with contextlib.aclosing(stream()) as items:
        async for item in items:
            if item == 1:
                break
    assert log == ["opened", None, "closed"]
    await check_free(policy, stream, log)


async def test_a_cancel_while_the_consumer_works(clock: FakeClock) -> None:
    """A consumer that is cancelled between two items leaves nothing behind."""
    log: list[Any] = []
    policy, stream = make(log)
    await open_then_probe(clock, stream)
    holding = asyncio.Event()

    async def consume() -> None:
        async with contextlib.asynccontextmanager(stream)():
            holding.set()
            await asyncio.sleep(3600)

    task = asyncio.create_task(consume())
    await holding.wait()
    task.cancel("gone")
    with pytest.raises(asyncio.CancelledError, match="gone"):
        await task
    await check_free(policy, stream, log)


async def test_sent_values_arrive(clock: FakeClock) -> None:
    """``asend``, ``athrow`` and ``aclose`` reach the generator."""
    log: list[Any] = []
    _, stream = make(log)
    await open_then_probe(clock, stream)
    items = stream()
    assert await anext(items) == 0
    assert await items.asend("sent") == 1
    with pytest.raises(ValueError, match="thrown"):
        await items.athrow(ValueError("thrown"))
    await items.aclose()
    assert log == ["opened", "sent", "thrown", "closed"]
