"""Build a resolved operation from its merged tree: defaults, then frozen classes."""

from __future__ import annotations

import math
from typing import Any

from policyctl.diagnostics import Span
from policyctl.resolve import blocks
from policyctl.resolve.build_facts import operation_facts
from policyctl.resolve.origins import Origins
from policyctl.resolve.policy import Call, Operation
from policyctl.resolve.tree import Block, Leaf
from policyctl.resolve.worst_case import local_wait, longest_call
from policyctl.source.nodes import Document


def build_operation(
    tree: Block,
    *,
    service: str,
    name: str,
    path: str,
    span: Span,
    document: Document,
    calls: tuple[Call, ...] = (),
    redis_url: str | None = None,
) -> Operation:
    """Build one operation from its filled and checked tree.

    ``redis_url`` is the environment variable with the address of the service's redis.
    """
    tree = fill_in_progress(tree)
    get = tree.get
    made: dict[str, Any] = {
        key: blocks.with_address(build(block), redis_url)
        for key, build in _BUILDERS.items()
        if (block := tree.block(key)) is not None
    }
    return Operation(
        service=service,
        name=name,
        span=span,
        path=path,
        document=document,
        kind=get("kind") or "unary",
        idempotent=get("idempotent"),
        transport=get("transport"),
        target=get("target"),
        description=get("description"),
        facts=operation_facts(tree.block("facts")),
        calls=calls,
        origins=Origins(tree),
        **made,
    )


def fill_in_progress(tree: Block) -> Block:
    """Fill the default of ``idempotency.in_progress``: how long a call can last.

    It needs valid settings, so it comes after the checks; an unbounded call has none.
    """
    idempotency = tree.block("idempotency")
    if idempotency is None or idempotency.has("in_progress"):
        return tree
    longest = _longest(tree)
    if math.isinf(longest):
        return tree
    entries = {**idempotency.entries, "in_progress": Leaf(longest)}
    filled = Block(entries, idempotency.layer)
    return Block({**tree.entries, "idempotency": filled}, tree.layer)


def _longest(tree: Block) -> float:
    """The worst-case duration of a call, in seconds."""
    made: dict[str, Any] = {}
    for key in (
        "attempt_timeout",
        "budget",
        "retry",
        "hedge",
        "bulkhead",
        "rate_limit",
    ):
        block = tree.block(key)
        made[key] = None if block is None else _BUILDERS[key](block)
    wait = local_wait(made.pop("bulkhead"), made.pop("rate_limit"))
    return longest_call(**made, wait=wait)


_BUILDERS: dict[str, Any] = {
    "attempt_timeout": blocks.attempt_timeout,
    "budget": blocks.budget,
    "retry": blocks.retry,
    "circuit_breaker": blocks.circuit_breaker,
    "bulkhead": blocks.bulkhead,
    "rate_limit": blocks.rate_limit,
    "hedge": blocks.hedge,
    "fallback": blocks.fallback,
    "idempotency": blocks.idempotency,
}
