"""pyresilience: one decorator with a settings object for each pattern."""

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
    library: Any = import_module("pyresilience")
    retry_block = library.RetryConfig(
        max_attempts=ATTEMPTS, delay=0.0, jitter=False, retry_on=(ConnectionError,)
    )

    def breaker_block(recovery: float) -> Any:
        return library.CircuitBreakerConfig(
            failure_threshold=FAILURES,
            recovery_timeout=recovery,
            success_threshold=1,
            error_types=(ConnectionError,),
        )

    def guard(fn: Function, **blocks: Any) -> Function:
        guarded: Function = library.resilient(**blocks)(fn)
        return guarded

    def stack_sync(fn: Function, **more: Any) -> Function:
        return guard(
            fn,
            retry=retry_block,
            circuit_breaker=breaker_block(RECOVERY),
            bulkhead=library.BulkheadConfig(max_concurrent=SLOTS),
            **more,
        )

    def stack_async(fn: Function) -> Function:
        return stack_sync(fn, timeout=library.TimeoutConfig(seconds=TIMEOUT))

    def retry(fn: Function) -> Function:
        return guard(fn, retry=retry_block)

    def breaker(fn: Function, recovery: float) -> Function:
        return guard(fn, circuit_breaker=breaker_block(recovery))

    def bulkhead(fn: Function, slots: int) -> Function:
        block = library.BulkheadConfig(max_concurrent=slots, max_wait=5.0)
        return guard(fn, bulkhead=block)

    return Library(
        name="pyresilience",
        layers="retry breaker bulkhead timeout",
        layers_sync="retry breaker bulkhead",
        opened=library.CircuitOpenError,
        stack_async=stack_async,
        stack_sync=stack_sync,
        retry_async=retry,
        retry_sync=retry,
        breaker_async=breaker,
        breaker_sync=breaker,
        bulkhead_async=bulkhead,
    )
