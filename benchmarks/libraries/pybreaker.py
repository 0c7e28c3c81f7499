"""pybreaker: a circuit breaker for plain functions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.libraries._adapter import FAILURES, RECOVERY, Function, Library


def adapter() -> Library:
    """The adapter; ImportError where the library is not installed."""
    pybreaker: Any = import_module("pybreaker")

    def breaker(fn: Function, recovery: float) -> Function:
        guarded: Function = pybreaker.CircuitBreaker(
            fail_max=FAILURES, reset_timeout=recovery, throw_new_error_on_trip=False
        )(fn)
        return guarded

    return Library(
        name="pybreaker",
        layers="",
        layers_sync="breaker",
        opened=pybreaker.CircuitBreakerError,
        stack_sync=lambda fn: breaker(fn, RECOVERY),
        breaker_sync=breaker,
        lacks=(
            "async: its coroutine support is for Tornado, not for asyncio",
            "retry, bulkhead, attempt timeout: a circuit breaker library",
        ),
    )
