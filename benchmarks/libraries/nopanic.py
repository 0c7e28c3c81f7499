"""nopanic: decorators stacked on one another."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.libraries._adapter import (
    ATTEMPTS,
    FAILURES,
    RECOVERY,
    SLOTS,
    TIMEOUT,
    Function,
    Library,
)


def adapter() -> Library:
    """The adapter; ImportError where the library is not installed."""
    nopanic: Any = import_module("nopanic")

    def retry(fn: Function) -> Function:
        guarded: Function = nopanic.retry(
            attempts=ATTEMPTS, on=ConnectionError, backoff=0.0
        )(fn)
        return guarded

    def breaker(fn: Function, recovery: float) -> Function:
        # It has ratios alone, and the stack is made to fail two calls of three.
        guarded: Function = nopanic.circuit_breaker(
            failure_threshold=0.9,
            min_calls=FAILURES,
            reset_timeout=recovery,
            on=ConnectionError,
        )(fn)
        return guarded

    def bulkhead(fn: Function, slots: int) -> Function:
        guarded: Function = nopanic.bulkhead(slots, max_wait=5.0)(fn)
        return guarded

    def stack_sync(fn: Function) -> Function:
        return retry(breaker(bulkhead(fn, SLOTS), RECOVERY))

    def stack_async(fn: Function) -> Function:
        return stack_sync(nopanic.timeout(TIMEOUT)(fn))

    return Library(
        name="nopanic",
        layers="retry breaker bulkhead timeout",
        layers_sync="retry breaker bulkhead",
        opened=nopanic.CircuitOpen,
        stack_async=stack_async,
        stack_sync=stack_sync,
        retry_async=retry,
        retry_sync=retry,
        breaker_async=breaker,
        breaker_sync=breaker,
        bulkhead_async=bulkhead,
    )
