"""RT-01: an async callable that looks like a sync one."""

from __future__ import annotations

import functools
import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

entries = 0


async def fails_twice(*_: object) -> str:
    """Fails two times, then works."""
    global entries
    entries += 1
    if entries < 3:
        raise TimeoutError
    return "ok"


class Async:
    """Callable object, method and static method."""

    async def __call__(self, *_: object) -> str:
        return await fails_twice()

    async def method(self) -> str:
        """A coroutine method."""
        return await fails_twice()

    @staticmethod
    async def static() -> str:
        """A static coroutine method."""
        return await fails_twice()


@functools.singledispatch
async def dispatched(_: object = None) -> str:
    """A dispatching function."""
    return await fails_twice()


CASES: dict[str, Callable[..., Any]] = {
    "partial of object": functools.partial(Async(), 1),
    "partial of partial": functools.partial(functools.partial(fails_twice)),
    "lambda": lambda: fails_twice(),
    "singledispatch": functools.partial(dispatched, 1),
    "bound method": Async().method,
    "static method": Async.static,
    "object": Async(),
}


@pytest.mark.parametrize("use", ["decorated", "called"])
@pytest.mark.parametrize("name", CASES)
async def test_every_async_callable_is_awaited_and_retried(
    name: str, use: str, clock: Any
) -> None:
    """Three entries, the value, and no coroutine that was never awaited."""
    global entries
    entries = 0
    policy = Policy(
        retry=settings.Retry(retry_on=("timeout",)),
        circuit_breaker=settings.CircuitBreaker(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if use == "decorated":
            assert await policy(CASES[name])() == "ok"
        else:
            assert await policy.call(CASES[name]) == "ok"
        gc.collect()
    assert entries == 3
