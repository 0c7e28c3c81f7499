"""policyctl itself."""

from __future__ import annotations

from benchmarks.libraries._adapter import (
    ATTEMPTS,
    FAILURES,
    RECOVERY,
    SLOTS,
    TIMEOUT,
    Function,
    Library,
)
from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy

RETRY = settings.Retry(
    max_attempts=ATTEMPTS,
    backoff=settings.Backoff(initial=0.0, max=0.0),
    retry_on=("ConnectionError",),
)


def _breaker(recovery: float) -> settings.CircuitBreaker:
    return settings.CircuitBreaker(
        failure_threshold=FAILURES,
        recovery_timeout=settings.Recovery(initial=recovery, jitter=0.0),
        success_threshold=1,
        record_on=("ConnectionError",),
    )


def _stack_async(fn: Function) -> Function:
    return Policy(
        retry=RETRY,
        circuit_breaker=_breaker(RECOVERY),
        bulkhead=settings.Bulkhead(max_concurrent=SLOTS),
        attempt_timeout=settings.AttemptTimeout(total=TIMEOUT),
    )(fn)


def _stack_sync(fn: Function) -> Function:
    return Policy(
        retry=RETRY,
        circuit_breaker=_breaker(RECOVERY),
        bulkhead=settings.Bulkhead(max_concurrent=SLOTS),
    )(fn)


def _retry(fn: Function) -> Function:
    return Policy(retry=RETRY)(fn)


def _only_breaker(fn: Function, recovery: float) -> Function:
    return Policy(circuit_breaker=_breaker(recovery))(fn)


def _bulkhead(fn: Function, slots: int) -> Function:
    block = settings.Bulkhead(max_concurrent=slots, max_queue=10, max_wait=5.0)
    return Policy(bulkhead=block)(fn)


def adapter() -> Library:
    """The adapter."""
    return Library(
        name="policyctl",
        layers="retry breaker bulkhead timeout",
        layers_sync="retry breaker bulkhead",
        opened=CircuitOpenError,
        stack_async=_stack_async,
        stack_sync=_stack_sync,
        retry_async=_retry,
        retry_sync=_retry,
        breaker_async=_only_breaker,
        breaker_sync=_only_breaker,
        bulkhead_async=_bulkhead,
    )
