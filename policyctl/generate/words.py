"""The main numbers of an operation in words, for docstrings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policyctl.resolve.policy import (
    AttemptTimeout,
    Backoff,
    Budget,
    Bulkhead,
    CircuitBreaker,
    Fallback,
    Hedge,
    Idempotency,
    Inbound,
    InboundBudget,
    Operation,
    RateLimit,
    Retry,
)
from policyctl.units import format_duration, format_rate, format_ratio

_MODES = {
    "enforce": "",
    "observe": "; it only observes",
    "disabled": "; disabled",
    "forced_open": "; forced open",
}


def summary(operation: Operation) -> Iterator[str]:
    """What a call of the operation goes through, one line for each pattern."""
    yield _nature(operation)
    if operation.budget is not None:
        yield f"budget: {_budget(operation.budget)}"
    if operation.attempt_timeout is not None:
        yield f"attempt timeout: {_attempt_timeout(operation.attempt_timeout)}"
    if operation.retry is not None:
        yield f"retry: {_retry(operation.retry)}"
    if operation.hedge is not None:
        yield f"hedge: {_hedge(operation.hedge)}"
    if operation.circuit_breaker is not None:
        yield f"circuit breaker: {_circuit_breaker(operation.circuit_breaker)}"
    if operation.rate_limit is not None:
        yield f"rate limit: {_rate_limit(operation.rate_limit)}"
    if operation.bulkhead is not None:
        yield f"bulkhead: {_bulkhead(operation.bulkhead)}"
    if operation.idempotency is not None:
        yield f"idempotency: {_idempotency(operation.idempotency)}"
    if operation.fallback is not None:
        yield f"fallback: {_fallback(operation.fallback)}"


def inbound_summary(block: Inbound) -> Iterator[str]:
    """What a request to the service goes through, one line for each pattern."""
    if block.rate_limit is not None:
        yield f"rate limit: {_rate_limit(block.rate_limit)}"
    if block.bulkhead is not None:
        yield f"bulkhead: {_bulkhead(block.bulkhead, 'request')}"
    if block.budget is not None:
        yield f"budget: {_inbound_budget(block.budget)}"


def _inbound_budget(block: InboundBudget) -> str:
    parts: list[str] = []
    if block.header is not None:
        parts.append(f"what the header {block.header.name} says in {block.header.unit}")
    if block.default is not None:
        without = " without it" if parts else ""
        parts.append(f"{format_duration(block.default)}{without}")
    if block.max is not None:
        parts.append(f"at most {format_duration(block.max)}")
    return ", ".join(parts)


def _nature(operation: Operation) -> str:
    kinds = {None: "not known to be idempotent", True: "idempotent"}
    kind = kinds.get(operation.idempotent, "not idempotent")
    if operation.kind == "stream":
        kind = f"a stream, {kind}"
    return f"{kind}, {operation.transport}" if operation.transport else kind


def _budget(block: Budget) -> str:
    text = "what the caller has left, for the whole call"
    if block.total is not None:
        less = ", or what the caller has left if that is less" if block.inherit else ""
        text = f"{format_duration(block.total)} for the whole call{less}"
    if block.minimum:
        text += f"; no attempt with less than {format_duration(block.minimum)} left"
    if block.header is not None:
        less = f", less {format_duration(block.reserve)}" if block.reserve else ""
        text += f"; its client sends {block.header.name}{less}"
    return text


def _attempt_timeout(block: AttemptTimeout) -> str:
    limits = (
        (block.total, ""),
        (block.connect, " to connect"),
        (block.first_item, " to the first item"),
        (block.idle, " between items"),
    )
    text = ", ".join(
        f"{format_duration(value)}{what}" for value, what in limits if value is not None
    )
    if block.sync == "cooperative" and block.total is not None:
        text += "; plain functions are not interrupted"
    return text


def _retry(block: Retry) -> str:
    if block.max_attempts == 1:
        return "none, one attempt"
    attempts = "attempts without limit"
    if block.max_attempts is not None:
        attempts = f"at most {block.max_attempts} attempts"
    parts = [attempts, _backoff(block.backoff)]
    reasons = [*block.retry_on]
    if block.retry_on_status:
        reasons.append(f"status {', '.join(block.retry_on_status)}")
    if reasons:
        parts.append(f"on {_or(reasons)}")
    if block.budget is not None:
        parts.append(f"at most {format_ratio(block.budget.ratio)} of the calls")
    return "; ".join(parts)


def _backoff(block: Backoff) -> str:
    if block.initial == 0:
        return "no wait between them"
    grows = block.multiplier != 1 and (block.max is None or block.max > block.initial)
    wait = f"{'first ' if grows else ''}wait {format_duration(block.initial)}"
    if grows:
        wait += f", then x {block.multiplier:g}"
        if block.max is not None:
            wait += f" up to {format_duration(block.max)}"
    if block.jitter.kind == "ratio":
        return f"{wait}, jitter {format_ratio(block.jitter.ratio)}"
    return (
        f"{wait}, {'no' if block.jitter.kind == 'none' else block.jitter.kind} jitter"
    )


def _circuit_breaker(block: CircuitBreaker) -> str:
    rules: list[str] = []
    if block.failure_threshold is not None:
        rules.append(f"{_count(block.failure_threshold, 'failure')} in a row")
    if block.failure_ratio is not None:
        rules.append(f"{format_ratio(block.failure_ratio)} failures {_window(block)}")
    if block.slow_call is not None:
        share, limit = block.slow_call.ratio, format_duration(block.slow_call.after)
        rules.append(f"{format_ratio(share)} over {limit} {_window(block)}")
    opening = format_duration(block.recovery_timeout.initial)
    probes = _count(block.success_threshold, "good probe")
    return (
        f"opens for {opening} after {_or(rules)}; closes after {probes}"
        f"{_MODES[block.mode]}"
    )


def _window(block: CircuitBreaker) -> str:
    if block.window.seconds is None:
        return f"in the last {block.window.calls} calls"
    seconds = format_duration(block.window.seconds)
    return f"in {seconds} and {block.minimum_calls} calls or more"


def _hedge(block: Hedge) -> str:
    more = "another attempt"
    if block.max_hedges > 1:
        more = f"up to {block.max_hedges} other attempts"
    share = format_ratio(block.budget)
    return f"{more} after {format_duration(block.delay)}, for {share} of the calls"


def _rate_limit(block: RateLimit) -> str:
    waiting = "no waiting"
    if block.max_wait:
        waiting = f"waiting up to {format_duration(block.max_wait)}"
    scope = ", all processes together" if block.store == "redis" else ""
    burst = f"{block.burst} at once"
    return f"{format_rate(block.rate)}{scope}, {burst}, {waiting}{_MODES[block.mode]}"


def _bulkhead(block: Bulkhead, noun: str = "attempt") -> str:
    waiting = "no waiting"
    if block.max_queue and block.max_wait:
        waiting = f"{block.max_queue} waiting up to {format_duration(block.max_wait)}"
    running = _count(block.max_concurrent, noun)
    return f"{running} at once, {waiting}{_MODES[block.mode]}"


def _idempotency(block: Idempotency) -> str:
    key = ", ".join(block.key) or (block.key_call or "").replace(":", ".")
    second = "waits" if block.on_conflict == "wait" else "is refused"
    kept = f"kept for {format_duration(block.ttl)} in {block.store}"
    return f"one effect for each {key}, {kept}; a second caller {second}"


def _fallback(block: Fallback) -> str:
    answer = "a fixed value"
    if block.kind != "value":
        answer = (block.call or block.operation or "").replace(":", ".")
    return f"{answer} on {_or(block.fallback_on)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _or(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts) or "nothing"
    return f"{', '.join(parts[:-1])} or {parts[-1]}"
