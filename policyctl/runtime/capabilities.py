"""What this runtime serves; ``generate`` refuses a policy that needs anything else."""

from __future__ import annotations

CAPABILITIES: frozenset[str] = frozenset(
    {
        "attempt_timeout",
        "attempt_timeout.argument",
        "attempt_timeout.sync.cooperative",
        "attempt_timeout.sync.thread",
        "budget",
        "bulkhead",
        "bulkhead.mode.disabled",
        "bulkhead.mode.enforce",
        "bulkhead.mode.observe",
        "bulkhead.scope.argument",
        "bulkhead.scope.service",
        "circuit_breaker",
        "circuit_breaker.failure_ratio",
        "circuit_breaker.mode.disabled",
        "circuit_breaker.mode.enforce",
        "circuit_breaker.mode.forced_open",
        "circuit_breaker.mode.observe",
        "circuit_breaker.record_if_result",
        "circuit_breaker.recovery_timeout.jitter",
        "circuit_breaker.recovery_timeout.multiplier",
        "circuit_breaker.scope.argument",
        "circuit_breaker.scope.service",
        "circuit_breaker.slow_call",
        "circuit_breaker.window.calls",
        "circuit_breaker.window.seconds",
        "fallback.call",
        "fallback.operation",
        "fallback.value",
        "hedge",
        "idempotency",
        "rate_limit",
        "rate_limit.mode.disabled",
        "rate_limit.mode.observe",
        "retry",
        "retry.budget",
        "retry.never_retry_on_status",
        "retry.retry_after",
        "retry.retry_if",
        "retry.retry_if_result",
        "retry.retry_on_status",
    }
)
"""Names of patterns and, after a dot, of their settings that are served."""
