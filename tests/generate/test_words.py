"""Operations in words: one line for each pattern, with its main numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from policyctl.generate.words import inbound_summary, summary
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]

LINES = {
    "idempotent: true": "idempotent, http",
    "idempotent: false": "not idempotent, http",
    "budget: 5s": "budget: 5s for the whole call, or what the caller has left if that "
    "is less",
    "budget: {total: 5s, inherit: false}": "budget: 5s for the whole call",
    "budget: {total: 5s, inherit: false, minimum: 200ms}": "budget: 5s for the whole "
    "call; no attempt with less than 200ms left",
    "budget: {total: 5s, inherit: false, reserve: 200ms, header: {name: X-Left}}": ""
    "budget: 5s for the whole call; its client sends X-Left, less 200ms",
    "idempotent: true\n    hedge: {delay: 200ms, budget: 5%}": "hedge: another attempt "
    "after 200ms, for 5% of the calls",
    "idempotent: true\n    hedge: {delay: 1s, max_hedges: 2}": "hedge: up to 2 other "
    "attempts after 1s, for 2% of the calls",
    "rate_limit: {rate: 100/s}": "rate limit: 100/s, 100 at once, no waiting",
    "rate_limit: {rate: 30/m, burst: 3, max_wait: 2s, mode: observe}": "rate limit: "
    "30/m, 3 at once, waiting up to 2s; it only observes",
    "attempt_timeout: {total: 2s, sync: cooperative}": "attempt timeout: 2s; plain "
    "functions are not interrupted",
    "attempt_timeout: {total: 5s, connect: 500ms}": "attempt timeout: 5s, 500ms to "
    "connect",
    "retry: {max_attempts: 1}": "retry: none, one attempt",
    "retry: {max_attempts: 2}": "retry: at most 2 attempts; first wait 100ms, then x 2 "
    "up to 5s, full jitter; on not_sent",
    "retry: {backoff: {initial: 5s, max: 5s, jitter: 20%}, retry_on: [timeout], "
    "retry_on_status: [503], budget: {ratio: 20%}}": "retry: at most 3 attempts; wait "
    "5s, jitter 20%; on timeout or status 503; at most 20% of the calls",
    "circuit_breaker: {}": "circuit breaker: opens for 30s after 5 failures in a row; "
    "closes after 2 good probes",
    "circuit_breaker: {failure_ratio: 50%, success_threshold: 1, mode: observe}": ""
    "circuit breaker: opens for 30s after 50% failures in 30s and 20 calls or more; "
    "closes after 1 good probe; it only observes",
    "circuit_breaker: {failure_threshold: 1, slow_call: {after: 2s, ratio: 80%}, "
    "window: 50 calls}": "circuit breaker: opens for 30s after 1 failure in a row or "
    "80% over 2s in the last 50 calls; closes after 2 good probes",
    "bulkhead: {max_concurrent: 1, max_wait: 0s}": "bulkhead: 1 attempt at once, no "
    "waiting",
    "bulkhead: {max_concurrent: 5, max_queue: 7, max_wait: 50ms, mode: disabled}": ""
    "bulkhead: 5 attempts at once, 7 waiting up to 50ms; disabled",
    "fallback: {value: 1, fallback_on: [timeout]}": "fallback: a fixed value on timeout",
    "fallback: {call: a.b:c, fallback_on: [timeout, circuit_open, KeyError]}": ""
    "fallback: a.b.c on timeout, circuit_open or KeyError",
}


@pytest.mark.parametrize("setting", LINES)
def test_a_line_for_each_pattern(setting: str, load: LoadProject) -> None:
    """The last line is about the setting."""
    text = (
        "version: 1\nservice: a\noperations:\n  x:\n    transport: http\n"
        f"    {setting}\n"
    )
    operation = load({"a.yaml": text}).services["a"].operations["x"]
    assert list(summary(operation))[-1] == LINES[setting]


def test_inbound_in_words(load: LoadProject) -> None:
    """Each part of the protection has its line."""
    text = (
        "version: 1\nservice: a\nredis: {url_env: A_REDIS}\ninbound:\n"
        "  rate_limit: {rate: 9/s, store: redis}\n"
        "  bulkhead: {max_concurrent: 2}\n"
        "  budget: {default: 5s}\n"
    )
    inbound = load({"a.yaml": text}).services["a"].inbound
    assert inbound is not None
    assert list(inbound_summary(inbound)) == [
        "rate limit: 9/s, all processes together, 9 at once, no waiting",
        "bulkhead: 2 requests at once, no waiting",
        "budget: 5s",
    ]
