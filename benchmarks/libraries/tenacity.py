"""tenacity: retries."""

from __future__ import annotations

import tenacity

from benchmarks.libraries._adapter import ATTEMPTS, Function, Library


def _retry(fn: Function) -> Function:
    guarded: Function = tenacity.retry(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        retry=tenacity.retry_if_exception_type(ConnectionError),
        reraise=True,
    )(fn)
    return guarded


def adapter() -> Library:
    """The adapter."""
    return Library(
        name="tenacity",
        layers="retry",
        layers_sync="retry",
        stack_async=_retry,
        stack_sync=_retry,
        retry_async=_retry,
        retry_sync=_retry,
        lacks=("circuit breaker, bulkhead, attempt timeout: a retry library",),
    )
