"""Build the frozen classes of one operation's patterns from filled blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policyctl.resolve.policy import (
    AttemptTimeout,
    Backoff,
    Budget,
    BudgetHeader,
    Bulkhead,
    CircuitBreaker,
    Fallback,
    Forward,
    Hedge,
    Idempotency,
    Jitter,
    RateLimit,
    Recovery,
    Retry,
    RetryAfter,
    RetryBudget,
    SlowCall,
    Window,
)
from policyctl.resolve.tree import Block, Leaf


def attempt_timeout(block: Block) -> AttemptTimeout:
    """Build the limit of one attempt."""
    get = block.get
    return AttemptTimeout(
        total=get("total"),
        connect=get("connect"),
        first_item=get("first_item"),
        idle=get("idle"),
        sync=get("sync"),
        argument=get("argument"),
    )


def budget(block: Block) -> Budget:
    """Build the limit of a whole call."""
    get = block.get
    return Budget(
        total=get("total"),
        inherit=get("inherit"),
        reserve=get("reserve"),
        minimum=get("minimum"),
        header=budget_header(block),
    )


def budget_header(block: Block) -> BudgetHeader | None:
    """Build the header of a budget, in seconds unless it says otherwise."""
    header = block.block("header")
    if header is None:
        return None
    return BudgetHeader(name=header.get("name"), unit=header.get("unit") or "s")


def jitter(block: Block) -> Jitter:
    """Build a back-off's jitter."""
    value: dict[str, Any] = block.get("jitter")
    return Jitter(kind=value["kind"], ratio=value.get("ratio", 0.0))


def retry(block: Block) -> Retry:
    """Build a retry; ``unlimited`` becomes None."""
    get = block.get
    attempts = get("max_attempts")
    backoff = block.block("backoff") or Block({})
    hint = block.block("retry_after")
    share = block.block("budget")
    return Retry(
        max_attempts=None if attempts == "unlimited" else attempts,
        backoff=Backoff(
            initial=backoff.get("initial"),
            multiplier=backoff.get("multiplier"),
            max=backoff.get("max"),
            jitter=jitter(backoff),
        ),
        retry_on=block.names("retry_on"),
        never_retry_on=block.names("never_retry_on"),
        retry_on_status=block.names("retry_on_status"),
        never_retry_on_status=block.names("never_retry_on_status"),
        retry_if=get("retry_if"),
        retry_if_result=get("retry_if_result"),
        retry_after=None if hint is None else RetryAfter(max=hint.get("max")),
        budget=None if share is None else retry_budget(share),
    )


def retry_budget(block: Block) -> RetryBudget:
    """Build the share of first tries that retries may be."""
    get = block.get
    return RetryBudget(get("ratio"), get("refill"), get("floor"), get("burst"))


def circuit_breaker(block: Block) -> CircuitBreaker:
    """Build a circuit breaker."""
    get = block.get
    slow = block.block("slow_call")
    return CircuitBreaker(
        failure_threshold=get("failure_threshold"),
        failure_ratio=get("failure_ratio"),
        slow_call=(
            None if slow is None else SlowCall(slow.get("after"), slow.get("ratio"))
        ),
        window=window(block),
        minimum_calls=get("minimum_calls"),
        recovery_timeout=recovery(block),
        half_open_max_calls=get("half_open_max_calls"),
        half_open_max_wait=get("half_open_max_wait"),
        success_threshold=get("success_threshold"),
        record_on=block.names("record_on"),
        ignore_on=block.names("ignore_on"),
        record_on_status=block.names("record_on_status"),
        ignore_on_status=block.names("ignore_on_status"),
        record_if_result=get("record_if_result"),
        scope=get("scope"),
        max_keys=get("max_keys"),
        store=get("store"),
        mode=get("mode"),
    )


def window(block: Block) -> Window:
    """Build a breaker's window."""
    form = block.block("window") or Block({})
    return Window(seconds=form.get("seconds"), calls=form.get("calls"))


def recovery(block: Block) -> Recovery:
    """Build how long a breaker stays open."""
    form = block.block("recovery_timeout") or Block({})
    get = form.get
    return Recovery(get("initial"), get("multiplier"), get("max"), get("jitter"))


def bulkhead(block: Block) -> Bulkhead:
    """Build a bulkhead."""
    get = block.get
    return Bulkhead(
        max_concurrent=get("max_concurrent"),
        max_queue=get("max_queue"),
        max_wait=get("max_wait"),
        scope=get("scope"),
        max_keys=get("max_keys"),
        mode=get("mode"),
    )


def rate_limit(block: Block) -> RateLimit:
    """Build a rate limit."""
    get = block.get
    return RateLimit(
        rate=get("rate"),
        burst=get("burst"),
        max_wait=get("max_wait"),
        store=get("store"),
        mode=get("mode"),
    )


def hedge(block: Block) -> Hedge:
    """Build a hedge."""
    return Hedge(block.get("delay"), block.get("max_hedges"), block.get("budget"))


def fallback(block: Block) -> Fallback:
    """Build a fallback; its value may be anything, the word ``off`` included."""
    names = block.names("fallback_on")
    if block.has("operation"):
        return Fallback("operation", None, None, block.get("operation"), names)
    if block.has("call"):
        return Fallback("call", None, block.get("call"), None, names)
    value = block.entries.get("value")
    return Fallback(
        "value", value.value if isinstance(value, Leaf) else None, None, None, names
    )


def idempotency(block: Block) -> Idempotency:
    """Build an idempotency block; ``in_progress`` is None where nothing bounds it."""
    get = block.get
    key = block.block("key")
    forward = block.block("forward")
    return Idempotency(
        key=block.names("key"),
        key_call=None if key is None else key.get("call"),
        forward=(
            None
            if forward is None
            else Forward(forward.get("header"), forward.get("argument"))
        ),
        ttl=get("ttl"),
        in_progress=get("in_progress"),
        on_conflict=get("on_conflict"),
        store=get("store"),
        path=get("path"),
        codec=get("codec"),
    )


def with_address(block: Any, redis_url: str | None) -> Any:
    """A block with the variable that holds its address, where its store is redis."""
    if getattr(block, "store", None) != "redis":
        return block
    return replace(block, url_env=redis_url)
