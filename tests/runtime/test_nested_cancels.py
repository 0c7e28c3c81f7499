"""Our cancels beside those of other scopes: each comes out as what its owner makes of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import AttemptTimeoutError, PolicyError
from policyctl.runtime.policy import Policy


def limited(seconds: float = 60.0, **more: Any) -> Policy:
    """An attempt timeout over a breaker that counts every exception."""
    return Policy(
        attempt_timeout=settings.AttemptTimeout(total=seconds),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=3, record_on=("Exception",)
        ),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        **more,
    )


async def hang() -> None:
    """A callee that never answers."""
    await asyncio.sleep(60)


def not_cancelling() -> bool:
    """Whether no cancel of this task is left over."""
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling() == 0


async def test_a_timeout_over_a_task_group_ends_its_tasks() -> None:
    """The group's tasks are cancelled and awaited before our error comes out."""
    ended: list[int] = []

    async def child(number: int) -> None:
        try:
            await hang()
        finally:
            ended.append(number)

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(2):
                group.create_task(child(number))

    with pytest.raises(AttemptTimeoutError):
        await limited(0.05).call(work)
    assert sorted(ended) == [0, 1]
    assert not_cancelling()


async def test_a_group_that_failed_is_retried_as_one() -> None:
    """Its tasks are gone each time, and three groups fail."""
    entries: list[int] = []

    async def fail() -> None:
        raise ValueError

    async def work() -> None:
        entries.append(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(hang())

    backoff = settings.Backoff(initial=0.0, max=0.0, jitter="none")
    retry = settings.Retry(max_attempts=3, retry_on=("ValueError",), backoff=backoff)
    with pytest.raises(ExceptionGroup):
        await limited(retry=retry).call(work)
    assert len(entries) == 3


async def test_a_timeout_around_us_is_not_ours() -> None:
    """``asyncio.timeout`` and ``wait_for`` raise their own error; nothing is counted."""
    policy = limited()
    with pytest.raises(TimeoutError) as first:
        async with asyncio.timeout(0.02):
            await policy.call(hang)
    with pytest.raises(TimeoutError) as second:
        await asyncio.wait_for(policy.call(hang), 0.02)
    assert not isinstance(first.value, PolicyError)
    assert not isinstance(second.value, PolicyError)
    assert policy.circuit_breaker.failures == 0
    assert policy.bulkhead.in_use == 0


async def test_a_timeout_inside_is_the_callees() -> None:
    """It is a failure like any other, and not renamed."""
    policy = limited()

    async def work() -> None:
        async with asyncio.timeout(0.01):
            await hang()

    with pytest.raises(TimeoutError) as caught:
        await policy.call(work)
    assert not isinstance(caught.value, PolicyError)
    assert policy.circuit_breaker.failures == 1


async def test_two_timeouts_at_one_instant_leave_no_cancel() -> None:
    """Whichever comes first, the task counts as not cancelling afterwards."""
    for _ in range(30):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.0105):
                await limited(0.01).call(hang)
        assert not_cancelling()


async def test_equal_limits_one_inside_the_other() -> None:
    """Both are kept by one task; one of the two errors comes out, and only that."""
    outer, inner = limited(0.03), limited(0.03)

    async def work() -> None:
        await inner.call(hang)

    with pytest.raises(AttemptTimeoutError):
        await outer.call(work)
    assert not_cancelling()


async def test_a_cancel_of_the_callees_own_task_passes_through() -> None:
    """It is nobody's failure, and no attempt follows."""
    entries: list[int] = []

    async def work() -> None:
        entries.append(1)
        task = asyncio.create_task(hang())
        await asyncio.sleep(0)
        task.cancel()
        await task

    policy = limited(retry=settings.Retry(retry_on=("Exception",)))
    with pytest.raises(asyncio.CancelledError):
        await policy.call(work)
    assert entries == [1]
    assert policy.circuit_breaker.failures == 0


async def test_a_group_with_a_cancel_in_it_is_neutral() -> None:
    """A BaseExceptionGroup passes at once, as its members would."""

    async def work() -> None:
        raise BaseExceptionGroup("both", [asyncio.CancelledError(), ValueError()])

    policy = limited(retry=settings.Retry(retry_on=("Exception",)))
    with pytest.raises(BaseExceptionGroup):
        await policy.call(work)
    assert policy.circuit_breaker.failures == 0


def test_too_deep_recursion_is_an_error_like_any_other() -> None:
    """The callee's RecursionError is counted, comes out as it is, and frees the slot."""

    def deeper() -> None:
        deeper()

    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=3, record_on=("Exception",)
        ),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )
    guarded = policy(deeper)
    for _ in range(3):
        with pytest.raises(RecursionError):
            guarded()
    assert policy.circuit_breaker.state == "open"
    assert policy.bulkhead.in_use == 0
