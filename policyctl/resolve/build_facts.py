"""Build the facts of operations and services; what was not stated stays None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policyctl.resolve.policy import (
    AutoscaleFacts,
    CacheFacts,
    Latency,
    LayerFacts,
    OperationFacts,
    PoolFacts,
    ReconnectFacts,
    ServiceFacts,
)
from policyctl.resolve.tree import Block

_NO_FACTS = OperationFacts()
_NO_SERVICE_FACTS = ServiceFacts()


def operation_facts(block: Block | None) -> OperationFacts:
    """Build an operation's facts."""
    if block is None:
        return _NO_FACTS
    return OperationFacts(
        rate=block.get("rate"),
        callers=block.get("callers"),
        latency=latency(block.block("latency")),
        failure_ratio=block.get("failure_ratio"),
    )


def latency(block: Block | None) -> Latency | None:
    """Build a measured latency."""
    if block is None:
        return None
    get = block.get
    return Latency(get("mean"), get("p50"), get("p99"), get("p999"))


def service_facts(block: Block | None) -> ServiceFacts:
    """Build a service's facts."""
    if block is None:
        return _NO_SERVICE_FACTS
    get = block.get
    return ServiceFacts(
        instances=get("instances"),
        workers=get("workers"),
        capacity=get("capacity"),
        service_time=latency(block.block("service_time")),
        objective=get("objective"),
        as_of=get("as_of"),
        source=get("source"),
        pool=_pool(block.block("pool")),
        shards=get("shards"),
        cache=_cache(block.block("cache")),
        layers=_layers(get("layers") or ()),
        autoscale=_autoscale(block.block("autoscale")),
        domain=get("domain"),
        reconnect=_reconnect(block.block("reconnect")),
    )


def _pool(block: Block | None) -> PoolFacts | None:
    if block is None:
        return None
    return PoolFacts(block.get("max"), block.get("acquire_timeout"))


def _cache(block: Block | None) -> CacheFacts | None:
    if block is None:
        return None
    return CacheFacts(block.get("hit_ratio"), block.get("coalesced"))


def _layers(items: Iterable[Mapping[str, Any]]) -> tuple[LayerFacts, ...]:
    return tuple(
        LayerFacts(
            name=item["name"],
            max_attempts=item["max_attempts"],
            retry_on_status=tuple(item.get("retry_on_status", ())),
        )
        for item in items
    )


def _autoscale(block: Block | None) -> AutoscaleFacts | None:
    if block is None:
        return None
    return AutoscaleFacts(block.get("metric"), block.get("target"))


def _reconnect(block: Block | None) -> ReconnectFacts | None:
    if block is None:
        return None
    get = block.get
    return ReconnectFacts(
        get("delay"), get("window"), get("jitter"), get("accept_rate")
    )
