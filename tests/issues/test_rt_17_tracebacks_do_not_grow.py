"""RT-17: rejections and repeated errors must not hoard frames."""

from __future__ import annotations

import gc
import weakref
from types import TracebackType
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy


def depth_of(traceback: TracebackType | None) -> int:
    """Frames in a traceback."""
    depth = 0
    while traceback is not None:
        traceback, depth = traceback.tb_next, depth + 1
    return depth


async def test_ten_thousand_rejections_are_ten_thousand_small_errors(
    form: Any, script: Any, clock: Any
) -> None:
    """Each is a fresh object with the same short traceback."""
    policy = Policy(circuit_breaker=settings.CircuitBreaker(failure_threshold=1))
    call = form.guard(policy, script(TimeoutError()))
    depths: set[int] = set()
    last, first, repeated = None, -1, 0
    for number in range(10_000):
        try:
            await call()
        except CircuitOpenError as error:
            repeated += error is last
            last = error
            depths.add(depth_of(error.__traceback__))
        except TimeoutError:
            first = number
    assert (first, repeated) == (0, 0)
    assert len(depths) == 1
    assert max(depths) < 10


async def test_one_error_raised_again_and_again_keeps_a_constant_traceback(
    form: Any, script: Any, clock: Any
) -> None:
    """A function that raises one stored instance on each of 500 attempts."""
    stored = TimeoutError()
    policy = Policy(retry=settings.Retry(max_attempts=500, retry_on=("timeout",)))
    function = script(stored)
    with pytest.raises(TimeoutError):
        await form.guard(policy, function)()
    assert function.entries == 500
    assert depth_of(stored.__traceback__) < 20


async def test_a_failed_call_keeps_nothing_alive(form: Any, clock: Any) -> None:
    """Locals of the failing frame are gone once the error is."""

    class Big:
        pass

    seen: list[weakref.ref[Big]] = []

    def fail() -> None:
        big = Big()
        seen.append(weakref.ref(big))
        raise TimeoutError

    policy = Policy(
        retry=settings.Retry(max_attempts=2, retry_on=("timeout",)),
        circuit_breaker=settings.CircuitBreaker(),
        bulkhead=settings.Bulkhead(max_concurrent=1),
    )
    call = form.guard(policy, fail)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await call()
    gc.collect()
    assert [ref() for ref in seen] == [None] * 4


async def test_a_replayed_error_is_a_fresh_one_each_time(form: Any, clock: Any) -> None:
    """The stored outcome of a key is raised 1,000 times, always as short."""
    entries: list[str] = []

    def pay(order: str) -> None:
        entries.append(order)
        raise ValueError("no such order")

    policy = Policy(
        service="rt17",
        operation="pay",
        retry=settings.Retry(never_retry_on=("ValueError",)),
        idempotency=settings.Idempotency(key_call=lambda order: order, ttl=60.0),
    )
    call = form.guard(policy, pay)
    depths: set[int] = set()
    last, repeated = None, 0
    for number in range(1000):
        try:
            await call("17")
        except ValueError as error:
            repeated += error is last
            last = error
            if number:
                depths.add(depth_of(error.__traceback__))
    assert entries == ["17"]
    assert repeated == 0
    assert len(depths) == 1
