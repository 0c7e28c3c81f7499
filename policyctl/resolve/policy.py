"""The resolved policy: what lint, generate and explain read.

Every class here is frozen and plain. Durations are seconds, rates are per second,
ratios are 0 to 1, sizes are bytes. A pattern that is off is None. Every number that
the language gives a default is filled in, so nobody downstream knows defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from policyctl.diagnostics import Span
from policyctl.resolve.facts import (
    AutoscaleFacts,
    CacheFacts,
    Latency,
    LayerFacts,
    OperationFacts,
    PoolFacts,
    ReconnectFacts,
    ServiceFacts,
)
from policyctl.resolve.patterns import (
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
from policyctl.source.nodes import Document

__all__ = [
    "AttemptTimeout",
    "AutoscaleFacts",
    "Backoff",
    "Budget",
    "BudgetHeader",
    "Bulkhead",
    "CacheFacts",
    "Call",
    "CircuitBreaker",
    "Consume",
    "Fallback",
    "Forward",
    "Hedge",
    "Idempotency",
    "Ignore",
    "Inbound",
    "InboundBudget",
    "Jitter",
    "Latency",
    "LayerFacts",
    "Operation",
    "OperationFacts",
    "Origin",
    "OriginKind",
    "PoolFacts",
    "Project",
    "Queue",
    "RateLimit",
    "ReconnectFacts",
    "Recovery",
    "Redelivery",
    "Retry",
    "RetryAfter",
    "RetryBudget",
    "Service",
    "ServiceFacts",
    "SlowCall",
    "Telemetry",
    "Upload",
    "Window",
]

OriginKind = Literal["document", "preset", "environment", "default"]


_NO_FACTS = OperationFacts()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a resolved value comes from.

    ``label`` is what ``explain`` prints: the place in a file, ``preset http-client``,
    ``environment staging`` or ``built-in default``. ``span`` is None for built-ins.
    """

    kind: OriginKind
    label: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """An edge of the call graph: the caller makes ``per_request`` calls to ``to``.

    ``policy`` holds the caller's own settings for the callee's operation when the
    edge has an ``override``; otherwise the callee's operation applies.
    """

    to: str
    service: str
    operation: str
    per_request: float
    mode: Literal["sequential", "parallel", "detached"]
    policy: Operation | None
    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with every block resolved; an absent block is None."""

    service: str
    name: str
    span: Span
    path: str
    document: Document
    kind: Literal["unary", "stream"] = "unary"
    idempotent: bool | None = None
    transport: Literal["http", "grpc", "sql", "redis", "local"] | None = None
    target: str | None = None
    description: str | None = None
    facts: OperationFacts = _NO_FACTS
    attempt_timeout: AttemptTimeout | None = None
    budget: Budget | None = None
    retry: Retry | None = None
    circuit_breaker: CircuitBreaker | None = None
    bulkhead: Bulkhead | None = None
    rate_limit: RateLimit | None = None
    hedge: Hedge | None = None
    fallback: Fallback | None = None
    idempotency: Idempotency | None = None
    calls: tuple[Call, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])

    @property
    def id(self) -> str:
        """``service.operation``."""
        return f"{self.service}.{self.name}"

    def origin(self, path: str) -> Origin:
        """Where the value at a dotted path comes from, for example ``retry.backoff``.

        The nearest recorded ancestor answers for what has no origin of its own; the
        operation's key answers for what is absent altogether.
        """
        while path:
            found = self.origins.get(path)
            if found is not None:
                return found
            path = path.rpartition(".")[0]
        return Origin("document", str(self.span), self.span)


@dataclass(frozen=True, slots=True)
class InboundBudget:
    """Seconds: what a request without a header gets, and the most it may ask for."""

    default: float | None
    max: float | None
    header: BudgetHeader | None


@dataclass(frozen=True, slots=True)
class Inbound:
    """Protection of a service as a server."""

    bulkhead: Bulkhead | None = None
    rate_limit: RateLimit | None = None
    budget: InboundBudget | None = None


@dataclass(frozen=True, slots=True)
class Redelivery:
    """Back-off between deliveries of one item; seconds."""

    initial: float
    multiplier: float
    max: float | None
    jitter: Jitter


@dataclass(frozen=True, slots=True)
class Consume:
    """A worker that hands items to an operation (``service.operation``)."""

    operation: str
    concurrency: int


@dataclass(frozen=True, slots=True)
class Upload:
    """A worker that sends items in batches; interval and drain in seconds."""

    operation: str
    batch: int
    interval: float
    drain: float


@dataclass(frozen=True, slots=True)
class Queue:
    """A bounded queue; sizes in items and bytes, times in seconds."""

    service: str
    name: str
    span: Span
    path: str
    store: Literal["sqlite", "redis", "external"]
    file: str | None
    key: str | None
    url_env: str | None
    payload: str | None
    codec: str
    max_size: int
    max_bytes: int | None
    max_age: float | None
    warn_at: float
    overflow: Literal["reject", "dead_letter", "drop_oldest"]
    lease: float
    max_deliveries: int | None
    redelivery: Redelivery
    dead_letter_max_size: int | None
    order_by: str | None
    consume: Consume | None
    upload: Upload | None
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Which sinks a service wants; None is off; ``heartbeat`` in seconds."""

    metrics: str | None = None
    traces: str | None = None
    logs: str | None = None
    heartbeat: float | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """One service document after resolution."""

    name: str
    document: Document
    span: Span
    owner: str | None
    description: str | None
    service_class: Literal["online", "batch", "control_loop"]
    critical: bool
    target: str | None
    redis_url_env: str | None
    facts: ServiceFacts
    operations: Mapping[str, Operation]
    calls: tuple[Call, ...]
    inbound: Inbound | None
    queues: Mapping[str, Queue]
    telemetry: Telemetry
    ignores: tuple[Ignore, ...]
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    extends: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The file that the service is declared in, as shown to people."""
        return self.document.source.path


@dataclass(frozen=True, slots=True)
class Ignore:
    """An entry of a document's ``ignore:`` list. ``until`` is an ISO date."""

    rule: str
    at: str | None
    reason: str | None
    until: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Project:
    """All services of one run, by name, in the order of their files.

    ``reported`` names the services that the user asked about; others are context.
    ``documents`` are all parsed documents, presets included.
    """

    services: Mapping[str, Service]
    documents: tuple[Document, ...] = ()
    environment: str | None = None
    reported: frozenset[str] = frozenset()

    def operations(self) -> Iterator[Operation]:
        """Every operation of every service, edges with an override not included."""
        for service in self.services.values():
            yield from service.operations.values()

    def find_operation(self, name: str) -> Operation | None:
        """The operation called ``service.operation``, or None."""
        service_name, _, operation = name.partition(".")
        service = self.services.get(service_name)
        return None if service is None else service.operations.get(operation)
