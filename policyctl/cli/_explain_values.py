"""Resolved settings as lines of path, value and origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

from policyctl import units
from policyctl.resolve.policy import (
    AttemptTimeout,
    Backoff,
    Budget,
    Bulkhead,
    CircuitBreaker,
    Fallback,
    Hedge,
    Idempotency,
    InboundBudget,
    Jitter,
    Latency,
    Operation,
    Queue,
    RateLimit,
    Recovery,
    Redelivery,
    RetryAfter,
    RetryBudget,
    Service,
    SlowCall,
    Telemetry,
    Upload,
    Window,
)

DURATIONS: dict[type, frozenset[str]] = {
    AttemptTimeout: frozenset({"total", "connect", "first_item", "idle"}),
    Backoff: frozenset({"initial", "max"}),
    Budget: frozenset({"total", "reserve", "minimum"}),
    Bulkhead: frozenset({"max_wait"}),
    CircuitBreaker: frozenset({"half_open_max_wait"}),
    Hedge: frozenset({"delay"}),
    Idempotency: frozenset({"ttl", "in_progress"}),
    InboundBudget: frozenset({"default", "max"}),
    Latency: frozenset({"mean", "p50", "p99", "p999"}),
    Queue: frozenset({"max_age", "lease"}),
    RateLimit: frozenset({"max_wait"}),
    Recovery: frozenset({"initial", "max"}),
    Redelivery: frozenset({"initial", "max"}),
    RetryAfter: frozenset({"max"}),
    SlowCall: frozenset({"after"}),
    Telemetry: frozenset({"heartbeat"}),
    Upload: frozenset({"interval", "drain"}),
    Window: frozenset({"seconds"}),
}
"""Fields that hold seconds, by class."""

RATIOS: dict[type, frozenset[str]] = {
    CircuitBreaker: frozenset({"failure_ratio"}),
    Hedge: frozenset({"budget"}),
    Queue: frozenset({"warn_at"}),
    Recovery: frozenset({"jitter"}),
    RetryBudget: frozenset({"ratio"}),
    SlowCall: frozenset({"ratio"}),
}
"""Fields that hold a share from 0 to 1, by class."""

RATES: dict[type, frozenset[str]] = {
    RateLimit: frozenset({"rate"}),
    RetryBudget: frozenset({"floor"}),
}
"""Fields that hold a number per second, by class."""

BLOCKS = (
    "attempt_timeout",
    "budget",
    "retry",
    "circuit_breaker",
    "bulkhead",
    "rate_limit",
    "hedge",
    "fallback",
    "idempotency",
)
SCALARS = ("kind", "idempotent", "transport", "target")
_QUEUE_OWN = frozenset({"service", "name", "span", "path", "origins"})


@dataclass(frozen=True, slots=True)
class Value:
    """One resolved setting: its dotted path, its text, the plain value, its origin."""

    path: str
    text: str
    value: Any
    origin: str

    def as_json(self) -> dict[str, Any]:
        """The value as JSON data; durations are seconds, rates per second."""
        return {"path": self.path, "value": self.value, "origin": self.origin}


def of_operation(operation: Operation) -> Iterator[Value]:
    """Every setting of an operation that is in force."""
    for name in SCALARS:
        value = getattr(operation, name)
        if value is not None and (name, value) != ("kind", "unary"):
            yield _value(name, value, str_of(value), operation)
    for name in BLOCKS:
        block = getattr(operation, name)
        if block is not None:
            yield from _of_block(name, block, operation)


def of_service(service: Service) -> Iterator[Value]:
    """What is in force for a service as a whole: as a server, and its telemetry."""
    if service.inbound is not None:
        yield from _of_block("inbound", service.inbound, service)
    yield from _of_block("telemetry", service.telemetry, service)


def of_queue(queue: Queue) -> Iterator[Value]:
    """Every setting of a queue that is in force."""
    yield from _of_block("", queue, queue)


def _of_block(
    path: str, block: Any, owner: Operation | Queue | Service
) -> Iterator[Value]:
    """The settings of a block, nested blocks inline."""
    if isinstance(block, Jitter):
        yield _value(path, _plain(block), _jitter(block), owner)
        return
    if isinstance(block, Fallback):
        answer: Any = getattr(block, block.kind)
        yield _value(f"{path}.{block.kind}", answer, str_of(answer), owner)
        text = str_of(block.fallback_on)
        yield _value(f"{path}.fallback_on", list(block.fallback_on), text, owner)
        return
    kind: type[Any] = type(block)  # pyright: ignore[reportUnknownVariableType]
    for field in fields(kind):
        if isinstance(block, Queue) and field.name in _QUEUE_OWN:
            continue
        value: Any = getattr(block, field.name)
        name = f"{path}.{field.name}" if path else field.name
        if value is None or value == ():
            continue
        if is_dataclass(value):
            yield from _of_block(name, value, owner)
        else:
            text = _text(kind, field.name, value)
            yield _value(name, _plain(value), text, owner)


def _value(
    path: str, value: Any, text: str, owner: Operation | Queue | Service
) -> Value:
    origin = _origin(owner, path)
    return Value(path, text, value, origin)


def _origin(owner: Operation | Queue | Service, path: str) -> str:
    """The label of the nearest recorded origin of a path."""
    if isinstance(owner, Operation):
        return owner.origin(path).label
    while path:
        found = owner.origins.get(path)
        if found is not None:
            return found.label
        path = path.rpartition(".")[0]
    return str(owner.span)


def _text(owner: type, name: str, value: Any) -> str:
    """A value as the language writes it."""
    if name in DURATIONS.get(owner, ()):
        return units.format_duration(value)
    if name in RATIOS.get(owner, ()):
        return units.format_ratio(value)
    if name in RATES.get(owner, ()):
        return units.format_rate(value)
    return str_of(value)


def str_of(value: Any) -> str:
    """A value without unit, as YAML flow text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        items = cast("tuple[object, ...]", value)
        return "[" + ", ".join(str_of(item) for item in items) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if value is None:
        return "null"
    if isinstance(value, dict):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _jitter(jitter: Jitter) -> str:
    if jitter.kind == "ratio":
        return "+/-" + units.format_ratio(jitter.ratio)
    return jitter.kind


def _plain(value: Any) -> Any:
    """A value as JSON data."""
    if isinstance(value, Jitter):
        return jitter_value(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return value


def jitter_value(jitter: Jitter) -> str | float:
    """A jitter as the language writes it: its kind, or its ratio."""
    return jitter.ratio if jitter.kind == "ratio" else jitter.kind
