"""Facts: what was measured or promised, in seconds, per second and ratios."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latency:
    """Measured latency in seconds; what was not measured is None."""

    mean: float | None = None
    p50: float | None = None
    p99: float | None = None
    p999: float | None = None


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """Facts of one operation: ``rate`` in first tries/s, ``callers`` in processes."""

    rate: float | None = None
    callers: int | None = None
    latency: Latency | None = None
    failure_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A connection pool of the caller's process; seconds."""

    max: int | None = None
    acquire_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """A cache in front of a service."""

    hit_ratio: float | None = None
    coalesced: bool | None = None


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """A layer between caller and callee that retries too (a mesh, an SDK)."""

    name: str
    max_attempts: int
    retry_on_status: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AutoscaleFacts:
    """What the service scales on and the target, a ratio or a count."""

    metric: str
    target: float | None = None


@dataclass(frozen=True, slots=True)
class ReconnectFacts:
    """How clients reconnect: seconds, and ``accept_rate`` in connections/s."""

    delay: float | None = None
    window: float | None = None
    jitter: str | None = None
    accept_rate: float | None = None


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """Facts of a service; None where nothing was stated."""

    instances: int | None = None
    workers: int | None = None
    capacity: float | None = None
    service_time: Latency | None = None
    objective: float | None = None
    as_of: str | None = None
    source: str | None = None
    pool: PoolFacts | None = None
    shards: int | None = None
    cache: CacheFacts | None = None
    layers: tuple[LayerFacts, ...] = ()
    autoscale: AutoscaleFacts | None = None
    domain: str | None = None
    reconnect: ReconnectFacts | None = None
