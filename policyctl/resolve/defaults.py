"""The built-in defaults: they fill keys of blocks that are present, and add no block.

``off`` on a key that has a meaning without a value (a list, a cap, a rule) stays, and
on a few numbers it means none of it (``max_queue: off`` is 0). On any other key it
takes an inherited value away, so that the default applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from policyctl.checks.references import CONDITIONS, REJECTIONS
from policyctl.resolve.statuses import without
from policyctl.resolve.tree import EMPTY, OFF, Block, Leaf, Node

REMOTE: Final = frozenset({"http", "grpc", "sql", "redis"})
HINTED: Final = frozenset({"http", "grpc"})

_OPTIONAL: Final = frozenset(
    {
        *("total", "connect", "first_item", "idle", "argument", "header", "max"),
        *("retry_on", "never_retry_on", "retry_on_status", "never_retry_on_status"),
        *("retry_if", "retry_if_result", "retry_after", "budget"),
        *("failure_threshold", "failure_ratio", "slow_call"),
        *("record_on", "ignore_on", "record_on_status", "ignore_on_status"),
        *("record_if_result", "fallback_on", "forward"),
        *("max_bytes", "max_age", "max_deliveries", "dead_letter", "order_by"),
        *("consume", "upload", "payload", "default", "value"),
    }
)

# What ``off`` means for keys that always have a number.
_ZERO: Final[dict[str, Any]] = {
    "max_attempts": 1,
    "max_queue": 0,
    "max_wait": 0.0,
    "reserve": 0.0,
    "minimum": 0.0,
    "multiplier": 1.0,
    "floor": 0.0,
}
_NO_JITTER: Final = {"kind": "none"}
_JITTER: Final = {"kind": "full"}


def _leaves(**defaults: Any) -> dict[str, Node]:
    return {key: Leaf(value) for key, value in defaults.items()}


BACKOFF: Final = _leaves(initial=0.1, multiplier=2.0, max=5.0, jitter=_JITTER)
REDELIVERY: Final = _leaves(initial=1.0, multiplier=2.0, max=300.0, jitter=_JITTER)
RETRY: Final = _leaves(max_attempts=3)
RETRY_BUDGET: Final = _leaves(ratio=0.1, refill="success", floor=0.1, burst=10)
RECOVERY: Final = _leaves(initial=30.0, multiplier=1.0, jitter=0.2)
BREAKER: Final = _leaves(
    half_open_max_calls=1,
    half_open_max_wait=60.0,
    success_threshold=2,
    scope="operation",
    max_keys=1000,
    store="memory",
    mode="enforce",
)
BULKHEAD: Final = _leaves(
    max_wait=0.0, scope="operation", max_keys=1000, mode="enforce"
)
RATE_LIMIT: Final = _leaves(max_wait=0.0, store="memory", mode="enforce")
BUDGET: Final = _leaves(inherit=True, reserve=0.0, minimum=0.0)
# ``recorded`` is what the circuit breaker calls a failure, or would, statuses included.
FALLBACK: Final = _leaves(fallback_on=("recorded", "timeout", *REJECTIONS))
HEDGE: Final = _leaves(max_hedges=1, budget=0.02)
IDEMPOTENCY: Final = _leaves(
    ttl=86400.0, on_conflict="wait", store="memory", codec="json"
)
QUEUE: Final = _leaves(overflow="reject", max_deliveries=5, warn_at=0.8, codec="json")
DEAD_LETTER: Final = _leaves(max_size=10000)
CONSUME: Final = _leaves(concurrency=1)
UPLOAD: Final = _leaves(batch=100, interval=5.0, drain=10.0)
SYNC: Final = {word: _leaves(sync=word) for word in ("thread", "cooperative")}
THRESHOLD: Final = Leaf(5)
IDEMPOTENT_HTTP_STATUSES: Final = ("429", "502-504")
RECORDED_HTTP_STATUSES: Final = ("408", "429", "500-599")
IGNORED_HTTP_STATUSES: Final = ("400-407", "409-428", "430-499")

Fill = Callable[[Block, Block], Block]


def complete(block: Block, defaults: Mapping[str, Node]) -> Block:
    """Return ``block`` with absent keys, and keys that cannot be off, from ``defaults``."""
    entries = {**defaults, **block.entries}
    for key, node in block.entries.items():
        if type(node) is Leaf and node.value == OFF and key not in _OPTIONAL:
            _replace_off(entries, key, defaults, node)
    return Block(entries, block.layer)


def _replace_off(
    entries: dict[str, Node], key: str, defaults: Mapping[str, Node], node: Leaf
) -> None:
    """Give a switched-off key what ``off`` means for it: none of it, or the default."""
    default = defaults.get(key)
    if key == "jitter" and isinstance(default, Leaf):
        share = isinstance(default.value, float)
        entries[key] = Leaf(0.0 if share else _NO_JITTER, node.layer)
    elif key in _ZERO:
        entries[key] = Leaf(_ZERO[key], node.layer)
    elif default is not None:
        entries[key] = default
    else:
        del entries[key]


def _nested(
    block: Block, key: str, defaults: Mapping[str, Node], always: bool
) -> Block:
    """Fill the block under ``key``; with ``always`` it exists even if absent."""
    inner = block.block(key)
    if inner is None:
        if not always:
            return block
        inner = EMPTY
    return _with(block, key, complete(inner, defaults))


def _with(block: Block, key: str, node: Node) -> Block:
    return Block({**block.entries, key: node}, block.layer)


def fill_operation(operation: Block) -> Block:
    """Fill every block of an operation that is present.

    Only ``idempotency.in_progress`` is left open: it needs the built operation.
    """
    entries = dict(operation.entries)
    for key, fill in _FILLS.items():
        block = operation.block(key)
        if block is not None:
            entries[key] = fill(block, operation)
    filled = Block(entries, operation.layer)
    fallback = operation.block("fallback")
    if fallback is not None:
        entries["fallback"] = complete(fallback, FALLBACK)
    return filled


def _attempt_timeout(block: Block, operation: Block) -> Block:
    return complete(block, SYNC["cooperative" if block.has("argument") else "thread"])


def _budget(block: Block, operation: Block) -> Block:
    return complete(block, BUDGET)


def _retry(block: Block, operation: Block) -> Block:
    transport = operation.get("transport")
    idempotent = operation.get("idempotent") is True
    statuses: tuple[str, ...] = ()
    if idempotent and transport == "http":
        statuses = without(
            IDEMPOTENT_HTTP_STATUSES, block.names("never_retry_on_status")
        )
    conditions: tuple[str, ...] = ()
    if transport in REMOTE:
        conditions = CONDITIONS if idempotent else ("not_sent",)
    defaults: dict[str, Node] = {
        **RETRY,
        "retry_on": Leaf(conditions),
        "retry_on_status": Leaf(statuses),
    }
    block = _nested(complete(block, defaults), "backoff", BACKOFF, always=True)
    block = _nested(block, "budget", RETRY_BUDGET, always=False)
    hinted = transport in HINTED and "retry_after" not in block.entries
    return _nested(block, "retry_after", _hint(operation), always=hinted)


def _hint(operation: Block) -> dict[str, Node]:
    """The longest hint to honour: the smaller of 10 s and half the budget."""
    budget = operation.block("budget")
    total = None if budget is None else budget.get("total")
    return {"max": Leaf(10.0 if total is None else min(10.0, total / 2))}


def _circuit_breaker(block: Block, operation: Block) -> Block:
    transport = operation.get("transport")
    defaults: dict[str, Node] = dict(BREAKER)
    if not {"failure_threshold", "failure_ratio", "slow_call"} & block.entries.keys():
        defaults["failure_threshold"] = THRESHOLD
    window = block.block("window")
    calls = None if window is None else window.get("calls")
    defaults["minimum_calls"] = Leaf(20 if calls is None else min(20, calls))
    defaults["record_on"] = Leaf(CONDITIONS if transport in REMOTE else ("Exception",))
    if transport == "http":
        ignored, recorded = "ignore_on_status", "record_on_status"
        defaults[recorded] = Leaf(without(RECORDED_HTTP_STATUSES, block.names(ignored)))
        defaults[ignored] = Leaf(without(IGNORED_HTTP_STATUSES, block.names(recorded)))
    block = complete(block, defaults)
    if window is None or not (window.has("seconds") or window.has("calls")):
        block = _with(block, "window", Block({"seconds": Leaf(_window(operation))}))
    return _nested(block, "recovery_timeout", RECOVERY, always=True)


def _window(operation: Block) -> float:
    """The larger of 30 s and twice the attempt timeout."""
    timeout = operation.block("attempt_timeout")
    total = None if timeout is None else timeout.get("total")
    return 30.0 if total is None else max(30.0, 2 * total)


def fill_bulkhead(block: Block, operation: Block | None = None) -> Block:
    """Fill a bulkhead: as many may wait as may run."""
    slots = block.get("max_concurrent")
    queue: dict[str, Node] = {} if slots is None else {"max_queue": Leaf(slots)}
    return complete(block, {**BULKHEAD, **queue})


def fill_rate_limit(block: Block, operation: Block | None = None) -> Block:
    """Fill a rate limit: the burst is one second's worth, at least one."""
    rate = block.get("rate")
    burst: dict[str, Node] = {}
    if rate is not None:
        burst["burst"] = Leaf(max(1, math.ceil(rate)))
    return complete(block, {**RATE_LIMIT, **burst})


def _fallback(block: Block, operation: Block) -> Block:
    return complete(block, FALLBACK)


def _hedge(block: Block, operation: Block) -> Block:
    return complete(block, HEDGE)


def _idempotency(block: Block, operation: Block) -> Block:
    return complete(block, IDEMPOTENCY)


_FILLS: Final[dict[str, Fill]] = {
    "attempt_timeout": _attempt_timeout,
    "budget": _budget,
    "retry": _retry,
    "circuit_breaker": _circuit_breaker,
    "bulkhead": fill_bulkhead,
    "rate_limit": fill_rate_limit,
    "hedge": _hedge,
    "fallback": _fallback,
    "idempotency": _idempotency,
}


def fill_queue(block: Block) -> Block:
    """Fill a queue; ``lease`` is left open, since it needs the built consumer."""
    block = complete(block, QUEUE)
    block = _nested(block, "redelivery", REDELIVERY, always=True)
    dead_letter = "dead_letter" not in block.entries
    block = _nested(block, "dead_letter", DEAD_LETTER, always=dead_letter)
    block = _nested(block, "consume", CONSUME, always=False)
    return _nested(block, "upload", UPLOAD, always=False)
