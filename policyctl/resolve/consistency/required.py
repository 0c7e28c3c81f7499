"""Keys that a block cannot do without, once all layers are merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.findings import Subject
from policyctl.resolve.tree import Block

# Path of the block, the keys of which one is needed, and what to write.
Need = tuple[tuple[str, ...], tuple[str, ...], str]

_OPERATION: Final[Sequence[Need]] = (
    (
        ("attempt_timeout",),
        ("total", "connect", "first_item", "idle"),
        "add total, for example 5s",
    ),
    (("bulkhead",), ("max_concurrent",), "add max_concurrent, for example 10"),
    (("rate_limit",), ("rate",), "add rate, for example 100/s"),
    (("hedge",), ("delay",), "add delay, for example 200ms"),
    (("circuit_breaker", "slow_call"), ("after",), "add after, for example 2s"),
    (("circuit_breaker", "slow_call"), ("ratio",), "add ratio, for example 80%"),
    (("budget", "header"), ("name",), "add name, for example X-Timeout-Budget"),
    (("fallback",), ("value", "call", "operation"), "add value, call or operation"),
    (
        ("idempotency",),
        ("key",),
        "add key, a list of argument paths or {call: module:function}",
    ),
    (("idempotency", "key"), ("call",), "add call, for example my_app.keys:key_of"),
    (("idempotency", "forward"), ("header", "argument"), "add header or argument"),
)
_INBOUND: Final[Sequence[Need]] = (
    (("bulkhead",), ("max_concurrent",), "add max_concurrent, for example 20"),
    (("rate_limit",), ("rate",), "add rate, for example 500/s"),
    (("budget", "header"), ("name",), "add name, for example X-Timeout-Budget"),
)
_QUEUE: Final[Sequence[Need]] = (
    ((), ("store",), "add store: sqlite, redis or external"),
    ((), ("max_size",), "add max_size, for example 1000"),
    (("consume",), ("operation",), "add operation, for example worker.handle"),
    (("upload",), ("operation",), "add operation, for example report_api.send_batch"),
)
_SETTINGS: Final[Sequence[Need]] = (
    (
        ("redis",),
        ("url_env",),
        "add url_env, the environment variable with the address",
    ),
    (("facts", "autoscale"), ("metric",), "add metric, for example cpu"),
)


def check_operation(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Find blocks of an operation that lack a key."""
    return _check(subject, _OPERATION)


def check_inbound(subject: Subject) -> Iterator[Diagnostic]:
    """Find blocks of ``inbound`` that lack a key."""
    return _check(subject, _INBOUND)


def check_queue(subject: Subject) -> Iterator[Diagnostic]:
    """Find keys that a queue lacks."""
    return _check(subject, _QUEUE)


def check_settings(subject: Subject) -> Iterator[Diagnostic]:
    """Find blocks of a service that lack a key."""
    return _check(subject, _SETTINGS)


def _check(subject: Subject, needs: Sequence[Need]) -> Iterator[Diagnostic]:
    for path, keys, help_ in needs:
        block = subject.tree.find(path)
        if not isinstance(block, Block) or any(_present(block, key) for key in keys):
            continue
        what = path[-1] if path else subject.path.rpartition(".")[2]
        switch = f", or write {what}: off" if path else ""
        yield subject.error(
            "VA127", f"{what} has no {' or '.join(keys)}", path, help=help_ + switch
        )


def _present(block: Block, key: str) -> bool:
    # A fallback's value may be anything, the word off included.
    return key in block.entries if key == "value" else block.has(key)
