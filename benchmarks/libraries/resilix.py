"""resilix: decorators that merge into one policy."""

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
    resilix: Any = import_module("resilix")
    protect = resilix.protect

    def retry(fn: Function) -> Function:
        guarded: Function = protect.when(ConnectionError, retry=ATTEMPTS)(fn)
        return guarded

    def breaker(fn: Function, recovery: float) -> Function:
        guarded: Function = protect.circuit(
            failures=FAILURES, reset_timeout=recovery, on=ConnectionError
        )(fn)
        return guarded

    def bulkhead(fn: Function, slots: int) -> Function:
        guarded: Function = protect.bulkhead(slots)(fn)
        return guarded

    def stack_sync(fn: Function) -> Function:
        return retry(breaker(bulkhead(fn, SLOTS), RECOVERY))

    def stack_async(fn: Function) -> Function:
        timed = protect.timeout(TIMEOUT)(fn)
        return stack_sync(timed)

    return Library(
        name="resilix",
        layers="retry breaker bulkhead timeout",
        layers_sync="retry breaker bulkhead",
        opened=resilix.CircuitOpenError,
        stack_async=stack_async,
        stack_sync=stack_sync,
        retry_async=retry,
        retry_sync=retry,
        breaker_async=breaker,
        breaker_sync=breaker,
        bulkhead_async=bulkhead,
    )
