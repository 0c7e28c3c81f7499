"""C19: guarded generators and async generators."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, remaining_budget
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    BulkheadFullError,
    CircuitOpenError,
    PolicyConfigError,
)
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock

NOW = settings.Backoff(initial=0.0, max=0.0)
RETRY = settings.Retry(max_attempts=3, backoff=NOW, retry_on=("ConnectionError",))


def _policy(**more: Any) -> Policy:
    defaults: dict[str, Any] = {
        "kind": "stream",
        "circuit_breaker": settings.CircuitBreaker(failure_threshold=9),
        "bulkhead": settings.Bulkhead(max_concurrent=1),
    }
    return Policy(**defaults | more)


def _quiet(policy: Policy, failures: int = 0) -> None:
    assert policy.bulkhead.in_use == 0
    assert policy.circuit_breaker.failures == failures


# Every test of this part runs the same script sync and async.


def _collect_sync(policy: Policy, fn: Callable[..., Iterator[Any]]) -> list[Any]:
    return list(policy(fn)())


def _collect_async(policy: Policy, fn: Callable[..., Iterator[Any]]) -> list[Any]:
    async def source() -> AsyncIterator[Any]:
        for item in fn():
            yield item

    async def main() -> list[Any]:
        return [item async for item in policy(source)()]

    return asyncio.run(main())


Collect = Callable[[Policy, Callable[..., Iterator[Any]]], list[Any]]
both = pytest.mark.parametrize("collect", [_collect_sync, _collect_async])


@both
def test_items_pass_and_the_slot_is_held_to_the_end(collect: Collect) -> None:
    """The slot is taken with the first step and free after the last."""
    policy = _policy()

    def source() -> Iterator[int]:
        for number in range(3):
            assert policy.bulkhead.in_use == 1
            yield number

    assert collect(policy, source) == [0, 1, 2]
    _quiet(policy)


@both
def test_empty_stream(collect: Collect) -> None:
    """No item at all is a success."""
    policy = _policy()

    def source() -> Iterator[int]:
        yield from ()

    assert collect(policy, source) == []
    _quiet(policy)


@both
def test_retried_before_the_first_item(collect: Collect) -> None:
    """Two failures before any item, then the whole stream: three entries."""
    policy, entries = _policy(retry=RETRY), list[int]()

    def source() -> Iterator[int]:
        entries.append(1)
        if len(entries) < 3:
            raise ConnectionError
        yield 1
        yield 2

    assert collect(policy, source) == [1, 2]
    assert len(entries) == 3
    _quiet(policy)


@both
def test_never_retried_after_the_first_item(collect: Collect) -> None:
    """A failure after an item comes out, is recorded and frees the slot."""
    policy, entries = _policy(retry=RETRY), list[int]()

    def source() -> Iterator[int]:
        entries.append(1)
        yield 1
        raise ConnectionError

    with pytest.raises(ConnectionError):
        collect(policy, source)
    assert len(entries) == 1
    _quiet(policy, 1)


@both
def test_last_error_after_retries(collect: Collect) -> None:
    """C3: the real error with the note."""
    policy = _policy(retry=RETRY)

    def source() -> Iterator[int]:
        raise ConnectionError
        yield 1

    with pytest.raises(ConnectionError) as caught:
        collect(policy, source)
    assert "3 attempts" in caught.value.__notes__[0]
    _quiet(policy, 3)


@both
def test_rejections_come_with_the_first_step(collect: Collect) -> None:
    """An open circuit and a full bulkhead refuse before the function is entered."""
    policy = _policy()

    def source() -> Iterator[int]:
        yield 1

    policy.circuit_breaker.force_open()
    with pytest.raises(CircuitOpenError):
        collect(policy, source)
    policy.circuit_breaker.reset()
    held = policy(source)()
    next(held)
    with pytest.raises(BulkheadFullError):
        collect(policy, source)
    held.close()  # type: ignore[attr-defined]
    assert collect(policy, source) == [1]


@both
def test_fallback_before_the_first_item(collect: Collect) -> None:
    """Its items take the stream's place."""
    policy = _policy(fallback=settings.FallbackValue(value=[7, 8]))

    def source() -> Iterator[int]:
        raise OSError
        yield 1

    assert collect(policy, source) == [7, 8]


@both
def test_budget_is_seen_in_every_step_and_not_outside(collect: Collect) -> None:
    """TD-11, C25: the scope is entered and left with each step."""
    policy = _policy(budget=settings.Budget(total=10.0))
    with fake_clock() as clock:

        def source() -> Iterator[float | None]:
            for _ in range(3):
                yield remaining_budget()
                clock.advance(1.0)

        assert collect(policy, source) == [10.0, 9.0, 8.0]
        assert remaining_budget() is None


# -- protocols ---------------------------------------------------------------------


def test_send_throw_close_and_return_pass_through() -> None:
    """The full generator protocol reaches the inner generator."""
    policy, log = _policy(), list[str]()

    @policy
    def echo() -> Iterator[Any]:
        try:
            got = yield "ready"
            while True:
                try:
                    got = yield f"got {got}"
                except KeyError:
                    got = "error"
        finally:
            log.append("closed")

    stream: Any = echo()
    assert inspect.isgeneratorfunction(echo)
    assert next(stream) == "ready"
    assert stream.send(5) == "got 5"
    assert stream.throw(KeyError()) == "got error"
    stream.close()
    assert log == ["closed"]
    _quiet(policy)

    @policy
    def returning() -> Generator[int, None, int]:
        yield 1
        return 9

    stream = returning()
    next(stream)
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == 9


async def test_async_protocol_passes_through() -> None:
    """asend, athrow and aclose reach the inner generator."""
    policy, log = _policy(), list[str]()

    @policy
    async def echo() -> AsyncIterator[Any]:
        try:
            got = yield "ready"
            while True:
                try:
                    got = yield f"got {got}"
                except KeyError:
                    got = "error"
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    stream: Any = echo()
    assert inspect.isasyncgenfunction(echo)
    assert await anext(stream) == "ready"
    assert await stream.asend(5) == "got 5"
    assert await stream.athrow(KeyError()) == "got error"
    await stream.aclose()
    assert log == ["closed"]
    _quiet(policy)


async def test_as_a_context_manager() -> None:
    """DC-02: an error of the body is cleaned up after, and no failure of the callee."""
    policy, log = _policy(), list[str]()

    @contextlib.asynccontextmanager
    @policy
    async def resource() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            log.append("closed")

    with pytest.raises(ValueError, match="body"):
        async with resource():
            raise ValueError("body")
    assert log == ["closed"]
    _quiet(policy)

    @contextlib.contextmanager
    @policy
    def plain() -> Iterator[int]:
        try:
            yield 1
        finally:
            log.append("plain")

    with pytest.raises(ValueError, match="body"):
        with plain():
            raise ValueError("body")
    _quiet(policy)


async def test_early_close_is_neutral() -> None:
    """A consumer that stops early closes the stream; that is no verdict."""
    policy = _policy()

    @policy
    async def numbers() -> AsyncIterator[int]:
        for number in range(100):
            yield number

    async with contextlib.aclosing(numbers()) as stream:  # type: ignore[type-var]
        async for number in stream:
            if number == 2:
                break
    _quiet(policy)


async def test_unfinished_streams_are_cleaned_up_by_the_loop() -> None:
    """TD-11: consumed in one task, closed in another, or left to the collector."""
    policy = _policy(budget=settings.Budget(total=10.0))

    @policy
    async def numbers() -> AsyncIterator[int]:
        for number in range(100):
            yield number

    stream: Any = numbers()
    assert await anext(stream) == 0
    await asyncio.create_task(stream.aclose())
    _quiet(policy)
    assert remaining_budget() is None
    stream = numbers()
    await anext(stream)
    del stream
    gc.collect()
    await asyncio.sleep(0.01)
    _quiet(policy)


async def test_cancel_during_a_step_is_neutral() -> None:
    """The slot is free and the cancel comes out plain."""
    policy = _policy()

    @policy
    async def hang() -> AsyncIterator[int]:
        await asyncio.sleep(30)
        yield 1

    async def consume() -> None:
        async for _ in hang():
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _quiet(policy)


@pytest.mark.timing
@pytest.mark.parametrize(
    ("limits", "waits", "phase"),
    [
        ({"total": None, "first_item": 0.02}, [30], "first_item"),
        ({"total": None, "idle": 0.02}, [0, 30], "idle"),
        ({"total": 0.04}, [0, 0.03, 0.03], "total"),
    ],
)
async def test_limits_of_waits(
    limits: dict[str, Any], waits: list[float], phase: str
) -> None:
    """first_item bounds the first step, idle each later one, total all of them."""
    policy = _policy(attempt_timeout=settings.AttemptTimeout(**limits))

    @policy
    async def items() -> AsyncIterator[float]:
        for wait in waits:
            await asyncio.sleep(wait)
            yield wait

    seen: list[float] = []

    async def consume() -> None:
        async for item in items():
            seen.append(item)

    with pytest.raises(AttemptTimeoutError) as caught:
        await consume()
    assert caught.value.phase == phase
    assert len(seen) == len(waits) - 1
    _quiet(policy, 1)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.timing
async def test_budget_cuts_a_stream() -> None:
    """C22: cut by the budget it is BudgetExhaustedError."""
    policy = _policy()

    @policy
    async def items() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(30)

    with budget(0.03), pytest.raises(BudgetExhaustedError):
        async for _ in items():
            pass
    _quiet(policy)


def test_what_cannot_be_a_stream_is_refused() -> None:
    """Time limits on plain generators, plain functions, and unary policies."""

    def numbers() -> Iterator[int]:
        yield 1

    limited = _policy(attempt_timeout=settings.AttemptTimeout(total=1.0))
    with pytest.raises(PolicyConfigError, match="cannot be interrupted"):
        limited(numbers)
    with pytest.raises(PolicyConfigError, match="no generator function"):
        _policy()(len)
    with pytest.raises(PolicyConfigError, match="kind: stream"):
        Policy()(numbers)
    assert list(_policy().call(numbers)) == [1]
