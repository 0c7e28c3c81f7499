"""stamina: retries on top of tenacity."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.libraries._adapter import ATTEMPTS, Function, Library


def adapter() -> Library:
    """The adapter; ImportError where the library is not installed."""
    stamina: Any = import_module("stamina")
    # Its default tells of each retry on standard error or in the log.
    stamina.instrumentation.set_on_retry_hooks([])

    def retry(fn: Function) -> Function:
        guarded: Function = stamina.retry(
            on=ConnectionError,
            attempts=ATTEMPTS,
            wait_initial=0.0,
            wait_max=0.0,
            wait_jitter=0.0,
        )(fn)
        return guarded

    return Library(
        name="stamina",
        layers="retry",
        layers_sync="retry",
        stack_async=retry,
        stack_sync=retry,
        retry_async=retry,
        retry_sync=retry,
        lacks=("circuit breaker, bulkhead, attempt timeout: a retry library",),
    )
