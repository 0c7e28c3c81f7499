"""hyx: decorators for coroutine functions."""

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
    retries: Any = import_module("hyx.retry")
    breakers: Any = import_module("hyx.circuitbreaker")
    bulkheads: Any = import_module("hyx.bulkhead")
    timeouts: Any = import_module("hyx.timeout")
    opened: Any = import_module("hyx.circuitbreaker.exceptions")

    def retry(fn: Function) -> Function:
        guarded: Function = retries.retry(
            on=ConnectionError, attempts=ATTEMPTS, backoff=0.0
        )(fn)
        return guarded

    def breaker(fn: Function, recovery: float) -> Function:
        guarded: Function = breakers.consecutive_breaker(
            exceptions=ConnectionError,
            failure_threshold=FAILURES,
            recovery_time_secs=recovery,
            recovery_threshold=1,
        )(fn)
        return guarded

    def bulkhead(fn: Function, slots: int) -> Function:
        guarded: Function = bulkheads.bulkhead(
            max_concurrency=slots, max_capacity=slots + 10
        )(fn)
        return guarded

    def stack(fn: Function) -> Function:
        timed = timeouts.timeout(TIMEOUT)(fn)
        return retry(breaker(bulkhead(timed, SLOTS), RECOVERY))

    return Library(
        name="hyx",
        layers="retry breaker bulkhead timeout",
        layers_sync="",
        opened=opened.BreakerFailing,
        stack_async=stack,
        retry_async=retry,
        breaker_async=breaker,
        bulkhead_async=bulkhead,
        lacks=("sync: guards coroutine functions alone",),
    )
