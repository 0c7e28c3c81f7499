"""circuitbreaker: a circuit breaker without locks."""

from __future__ import annotations

from importlib import import_module
from itertools import count
from typing import Any

from benchmarks.libraries._adapter import FAILURES, RECOVERY, Function, Library

_numbers = count()


def adapter() -> Library:
    """The adapter; ImportError where the library is not installed."""
    library: Any = import_module("circuitbreaker")

    def breaker(fn: Function, recovery: float) -> Function:
        guarded: Function = library.CircuitBreaker(
            failure_threshold=FAILURES,
            recovery_timeout=recovery,
            expected_exception=ConnectionError,
            name=f"breaker{next(_numbers)}",
        )(fn)
        return guarded

    def stack(fn: Function) -> Function:
        return breaker(fn, RECOVERY)

    return Library(
        name="circuitbreaker",
        layers="breaker",
        layers_sync="breaker",
        opened=library.CircuitBreakerError,
        stack_async=stack,
        stack_sync=stack,
        breaker_async=breaker,
        breaker_sync=breaker,
        lacks=("retry, bulkhead, attempt timeout: a circuit breaker library",),
    )
