"""The main numbers of an operation in words, for docstrings."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.resolve.policy import (
    AttemptTimeout,
    Budget,
    Bulkhead,
    CircuitBreaker,
    Fallback,
    Operation,
    Retry,
)
from policyctl.units import format_duration, format_ratio

_MODES = {
    "observe": "It only observes.",
    "disabled": "It is disabled.",
    "forced_open": "It is forced open.",
}


def sentences(operation: Operation) -> Iterator[str]:
    """What a call of the operation goes through, one sentence for each pattern."""
    yield _nature(operation)
    if operation.budget is not None:
        yield _budget(operation.budget)
    if operation.attempt_timeout is not None:
        yield _attempt_timeout(operation.attempt_timeout)
    if operation.retry is not None:
        yield from _retry(operation.retry)
    if operation.circuit_breaker is not None:
        yield from _circuit_breaker(operation.circuit_breaker)
    if operation.bulkhead is not None:
        yield from _bulkhead(operation.bulkhead)
    if operation.fallback is not None:
        yield _fallback(operation.fallback)


def _nature(operation: Operation) -> str:
    kind = {None: "Not known to be idempotent", True: "Idempotent"}.get(
        operation.idempotent, "Not idempotent"
    )
    return f"{kind}, over {operation.transport}." if operation.transport else f"{kind}."


def _budget(block: Budget) -> str:
    if block.total is None:
        return "The whole call takes what time its caller has left."
    shorter = ", or less when its caller has less" if block.inherit else ""
    return f"The whole call takes at most {format_duration(block.total)}{shorter}."


def _attempt_timeout(block: AttemptTimeout) -> str:
    parts = [
        (block.total, "in all" if block.connect else ""),
        (block.connect, "to connect"),
        (block.first_item, "to the first item"),
        (block.idle, "between items"),
    ]
    limits = [
        f"{format_duration(value)} {what}".rstrip()
        for value, what in parts
        if value is not None
    ]
    return f"One attempt takes at most {', '.join(limits)}."


def _retry(block: Retry) -> Iterator[str]:
    if block.max_attempts == 1:
        yield "It is tried once."
        return
    tries = "without limit" if block.max_attempts is None else "at most"
    count = "" if block.max_attempts is None else f" {block.max_attempts} times"
    backoff = block.backoff
    first = format_duration(backoff.initial)
    growth = f" x {backoff.multiplier:g}" if backoff.multiplier != 1 else ""
    limit = "" if backoff.max is None else f", at most {format_duration(backoff.max)}"
    jitter = (
        f"jitter of {format_ratio(backoff.jitter.ratio)}"
        if backoff.jitter.kind == "ratio"
        else f"{backoff.jitter.kind} jitter".replace("none", "no")
    )
    yield (f"It is tried {tries}{count}, {first}{growth} apart{limit}, with {jitter}.")
    reasons = [*block.retry_on, *(f"status {s}" for s in block.retry_on_status)]
    if reasons:
        yield f"It is tried again on {_or(reasons)}."
    if block.budget is not None:
        yield f"Retries are at most {format_ratio(block.budget.ratio)} of the calls."


def _circuit_breaker(block: CircuitBreaker) -> Iterator[str]:
    rules: list[str] = []
    if block.failure_threshold is not None:
        rules.append(f"{_count(block.failure_threshold, 'failure')} in a row")
    window = _window(block)
    if block.failure_ratio is not None:
        rules.append(f"{format_ratio(block.failure_ratio)} failures {window}")
    if block.slow_call is not None:
        share, limit = block.slow_call.ratio, format_duration(block.slow_call.after)
        rules.append(f"{format_ratio(share)} calls over {limit} {window}")
    opening = format_duration(block.recovery_timeout.initial)
    probes = _count(block.success_threshold, "good probe")
    closes = "closes" if block.success_threshold == 1 else "close"
    yield (f"Its circuit opens for {opening} after {_or(rules)}; {probes} {closes} it.")
    if block.mode in _MODES:
        yield _MODES[block.mode].replace("It", "The circuit breaker")


def _window(block: CircuitBreaker) -> str:
    window = block.window
    if window.seconds is not None:
        return f"of at least {block.minimum_calls} in {format_duration(window.seconds)}"
    return f"of the last {window.calls}"


def _bulkhead(block: Bulkhead) -> Iterator[str]:
    waiting = (
        f"; {block.max_queue} more may wait up to {format_duration(block.max_wait)}"
        if block.max_queue and block.max_wait
        else ""
    )
    attempts = _count(block.max_concurrent, "attempt")
    verb = "runs" if block.max_concurrent == 1 else "run"
    yield f"At most {attempts} {verb} at once{waiting}."
    if block.mode in _MODES:
        yield _MODES[block.mode].replace("It", "The bulkhead")


def _fallback(block: Fallback) -> str:
    if block.kind == "value":
        answer = "a fixed value"
    else:
        answer = (block.call or block.operation or "").replace(":", ".")
    return f"On {_or(block.fallback_on)} it answers with {answer}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _or(parts: list[str] | tuple[str, ...]) -> str:
    if not parts:
        return "nothing"
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} or {parts[-1]}"
