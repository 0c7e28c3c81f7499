"""aiobreaker: pybreaker's design for asyncio."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from inspect import iscoroutinefunction, isfunction
from typing import Any

from benchmarks.libraries._adapter import FAILURES, RECOVERY, Function, Library


def _function(method: Function) -> Function:
    """A function around ``method``, since its decorator takes nothing else."""

    async def call_async() -> Any:
        return await method()

    def call() -> Any:
        return method()

    return call_async if iscoroutinefunction(method) else call


def adapter() -> Library:
    """The adapter; ImportError where the library is not installed."""
    aiobreaker: Any = import_module("aiobreaker")

    def breaker(fn: Function, recovery: float) -> Function:
        made = aiobreaker.CircuitBreaker(
            fail_max=FAILURES, timeout_duration=timedelta(seconds=recovery)
        )
        guarded: Function = made(fn if isfunction(fn) else _function(fn))
        return guarded

    def stack(fn: Function) -> Function:
        return breaker(fn, RECOVERY)

    return Library(
        name="aiobreaker",
        layers="breaker",
        layers_sync="breaker",
        opened=aiobreaker.CircuitBreakerError,
        stack_async=stack,
        stack_sync=stack,
        breaker_async=breaker,
        breaker_sync=breaker,
        lacks=("retry, bulkhead, attempt timeout: a circuit breaker library",),
    )
