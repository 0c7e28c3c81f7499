"""Build what a service has beside its operations: inbound, queues, telemetry, ignores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from policyctl.resolve import blocks
from policyctl.resolve.defaults import (
    complete,
    fill_bulkhead,
    fill_queue,
    fill_rate_limit,
)
from policyctl.resolve.layers import Merged
from policyctl.resolve.origins import Origins
from policyctl.resolve.policy import (
    Consume,
    Ignore,
    Inbound,
    InboundBudget,
    Operation,
    Queue,
    Redelivery,
    Telemetry,
    Upload,
)
from policyctl.resolve.tree import Block, Leaf
from policyctl.resolve.worst_case import worst_case

Find = Callable[[str], Operation | None]


def fill_inbound(block: Block) -> Block:
    """Fill the defaults of an ``inbound`` block."""
    entries = dict(block.entries)
    for key, fill in (("bulkhead", fill_bulkhead), ("rate_limit", fill_rate_limit)):
        inner = block.block(key)
        if inner is not None:
            entries[key] = fill(inner)
    budget = block.block("budget")
    if budget is not None:
        entries["budget"] = complete(budget, {})
    return Block(entries, block.layer)


def inbound(block: Block | None, redis_url: str | None = None) -> Inbound | None:
    """Build the protection of a service as a server from its filled block."""
    if block is None:
        return None
    bulkhead, rate = block.block("bulkhead"), block.block("rate_limit")
    budget = block.block("budget")
    return Inbound(
        bulkhead=None if bulkhead is None else blocks.bulkhead(bulkhead),
        rate_limit=(
            None
            if rate is None
            else blocks.with_address(blocks.rate_limit(rate), redis_url)
        ),
        budget=None if budget is None else _inbound_budget(budget),
    )


def _inbound_budget(block: Block) -> InboundBudget:
    return InboundBudget(
        block.get("default"), block.get("max"), blocks.budget_header(block)
    )


def fill_lease(block: Block, find: Find) -> Block:
    """Fill a queue, its lease from its consumer: twice the worst case, or 30 s."""
    block = fill_queue(block)
    if block.has("lease"):
        return block
    lease = 30.0
    worker = block.block("consume") or block.block("upload")
    operation = None if worker is None else find(worker.get("operation") or "")
    if operation is not None:
        longest = worst_case(operation)
        lease = 30.0 if math.isinf(longest) else 2 * longest
    return Block({**block.entries, "lease": Leaf(lease)}, block.layer)


def queue(block: Block, merged: Merged, name: str) -> Queue:
    """Build a queue from its filled block."""
    get = block.get
    redelivery = block.block("redelivery") or Block({})
    dead = block.block("dead_letter")
    worker, upload = block.block("consume"), block.block("upload")
    return Queue(
        service=merged.name,
        name=name,
        span=merged.document.locate_key(("queues", name)),
        path=f"{merged.name}.queues.{name}",
        store=get("store"),
        file=get("path"),
        key=get("key"),
        url_env=(
            get("url_env") or redis_url(merged) if get("store") == "redis" else None
        ),
        payload=get("payload"),
        codec=get("codec"),
        max_size=get("max_size"),
        max_bytes=get("max_bytes"),
        max_age=get("max_age"),
        warn_at=get("warn_at"),
        overflow=get("overflow"),
        lease=get("lease"),
        max_deliveries=get("max_deliveries"),
        redelivery=Redelivery(
            initial=redelivery.get("initial"),
            multiplier=redelivery.get("multiplier"),
            max=redelivery.get("max"),
            jitter=blocks.jitter(redelivery),
        ),
        dead_letter_max_size=None if dead is None else dead.get("max_size"),
        order_by=get("order_by"),
        consume=None if worker is None else _consume(worker),
        upload=None if upload is None else _upload(upload),
        origins=Origins(block, ("queues", name)),
    )


def _consume(block: Block) -> Consume:
    return Consume(block.get("operation"), block.get("concurrency"))


def _upload(block: Block) -> Upload:
    get = block.get
    return Upload(get("operation"), get("batch"), get("interval"), get("drain"))


def redis_url(merged: Merged) -> str | None:
    """The environment variable with the address of the service's redis."""
    redis = merged.settings.block("redis")
    return None if redis is None else redis.get("url_env")


def telemetry(block: Block | None) -> Telemetry:
    """Build which sinks a service wants."""
    if block is None:
        return Telemetry()
    get = block.get
    return Telemetry(get("metrics"), get("traces"), get("logs"), get("heartbeat"))


def ignores(merged: Merged) -> tuple[Ignore, ...]:
    """Build the entries of the document's ``ignore:`` list."""
    entries: list[Mapping[str, Any]] = list(merged.declared.data.get("ignore", ()))
    return tuple(
        Ignore(
            rule=entry["rule"],
            at=entry.get("at"),
            reason=entry.get("reason"),
            until=None if entry.get("until") is None else str(entry["until"]),
            span=merged.document.locate(("ignore", index)),
        )
        for index, entry in enumerate(entries)
    )
