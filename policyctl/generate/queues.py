"""Queues of a service as the objects, types and texts of its module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policyctl.checks.limits import LIMITS, override_name, show
from policyctl.generate import literals
from policyctl.generate.contexts import QueueContext
from policyctl.generate.expressions import expression
from policyctl.generate.fields import field_values
from policyctl.generate.layout import Expr, call, lay_out
from policyctl.resolve.policy import Queue, Service
from policyctl.units import format_duration, format_ratio, format_size

MODULE = "_queues"
# Settings that are left out where they are what the runtime takes by default.
_OPTIONAL = ("payload", "max_bytes", "max_age", "order_by", "consume", "upload")
_OVERFLOW = {
    "reject": "put refuses",
    "dead_letter": "new items become dead letters",
    "drop_oldest": "the oldest are dropped",
}


def generated(service: Service) -> dict[str, Queue]:
    """The queues of a service that it has code for: those that are not elsewhere."""
    return {n: q for n, q in service.queues.items() if q.store != "external"}


def queue_names(policy: Mapping[str, Any]) -> list[str]:
    """The same from the plain resolved values of a service: names, sorted."""
    queues: Mapping[str, Mapping[str, Any]] = policy.get("queues", {})
    return sorted(name for name in queues if queues[name]["store"] != "external")


def queue_context(queue: Queue) -> QueueContext:
    """One queue object."""
    payload = f"_{queue.name}_payload"
    kind = f"{MODULE}.JsonQueue"
    alias = ""
    if queue.payload is not None:
        kind = f"{MODULE}.Queue[{payload}]"
        alias = f"_{queue.name}_module.{queue.payload.partition(':')[2]}"
    arguments = [
        lay_out(f"{name}=", value, 4, ",") for name, value in _arguments(queue)
    ]
    return QueueContext(
        name=queue.name,
        kind=kind,
        arguments=tuple(arguments),
        module="" if queue.payload is None else queue.payload.partition(":")[0],
        payload=payload,
        alias=alias,
    )


def _arguments(queue: Queue) -> Iterator[tuple[str, Expr]]:
    yield "service", literals.string(queue.service)
    yield "queue", literals.string(queue.name)
    yield "store", _store(queue)
    yield "max_size", expression(queue.max_size)
    if queue.codec != "json":
        yield "codec", literals.string(queue.codec)
    for name in _OPTIONAL[:4]:
        value: object = getattr(queue, name)
        if value is not None:
            yield name, expression(_number(name, value))
    yield "warn_at", expression(float(queue.warn_at))
    yield "overflow", literals.string(queue.overflow)
    yield "lease", expression(float(queue.lease))
    yield "max_deliveries", expression(queue.max_deliveries)
    yield "redelivery", _block(queue.redelivery)
    dead: Expr = "None"
    if queue.dead_letter_max_size is not None:
        size = expression(queue.dead_letter_max_size)
        dead = call(f"{MODULE}.DeadLetter", [("max_size", size)])
    yield "dead_letter", dead
    for block in (queue.consume, queue.upload):
        if block is not None:
            yield type(block).__name__.lower(), _block(block)


def _number(name: str, value: object) -> object:
    return float(value) if name == "max_age" and isinstance(value, int) else value


def _store(queue: Queue) -> Expr:
    if queue.store == "sqlite":
        path = literals.string(queue.file or "")
        return call(f"{MODULE}.Sqlite", [("path", path)])
    key, url_env = literals.string(queue.key or ""), literals.string(
        queue.url_env or ""
    )
    return call(f"{MODULE}.Redis", [("key", key), ("url_env", url_env)])


def _block(block: object) -> Expr:
    fields = field_values(block) or []
    return call(
        f"{MODULE}.{type(block).__name__}",
        [(name, expression(value)) for name, value in fields],
    )


def queue_summary(queue: Queue) -> Iterator[str]:
    """What the queue does, one line for each matter."""
    if queue.store == "external":
        yield "a queue elsewhere; there is no code for it here"
        return
    items = queue.payload.replace(":", ".") if queue.payload else "JSON objects"
    place = f"file {queue.file}" if queue.store == "sqlite" else f"redis {queue.key}"
    yield f"{items} in {place}"
    yield f"size: {_size(queue)}"
    yield f"delivery: {_delivery(queue)}"
    dead = queue.dead_letter_max_size
    yield f"dead letters: {'none' if dead is None else f'at most {dead}'}"
    if queue.order_by is not None:
        yield f"order: first in, first out for each {queue.order_by}"
    if queue.consume is not None:
        at_once = f"{queue.consume.concurrency} at once"
        yield f"consume: {queue.consume.operation}, {at_once}"
    if queue.upload is not None:
        upload = queue.upload
        yield (
            f"upload: {upload.operation}, {upload.batch} in a batch, every "
            f"{format_duration(upload.interval)}"
        )


def _size(queue: Queue) -> str:
    most = f"at most {queue.max_size} items"
    if queue.max_bytes is not None:
        most += f" and {format_size(queue.max_bytes)}"
    parts = [most, f"warning at {format_ratio(queue.warn_at)}"]
    if queue.max_age is not None:
        parts.append(f"at most {format_duration(queue.max_age)} old")
    parts.append(f"when full, {_OVERFLOW[queue.overflow]}")
    return "; ".join(parts)


def _delivery(queue: Queue) -> str:
    most = queue.max_deliveries
    times = "without limit" if most is None else f"at most {most} times"
    wait = queue.redelivery
    text = f"{times}, leased for {format_duration(queue.lease)}"
    if wait.initial == 0:
        return f"{text}; again at once"
    text += f"; again after {format_duration(wait.initial)}"
    if wait.multiplier != 1:
        text += f", then x {wait.multiplier:g}"
        if wait.max is not None:
            text += f" up to {format_duration(wait.max)}"
    return text


def queue_overrides(queue: Queue) -> Iterator[str]:
    """``NAME (value)`` for each limit of the queue that a variable may change."""
    for path, limit in LIMITS.items():
        value = _value(queue, path)
        if limit.override and isinstance(value, (int, float)):
            name = override_name(queue.service, queue.name, path)
            yield f"{name} ({show(limit.kind, value)})"


def _value(queue: Queue, path: str) -> object:
    if path == "dead_letter.max_size":
        return queue.dead_letter_max_size
    value: object = queue
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def payload_lines(queues: Iterable[QueueContext]) -> tuple[list[str], list[str]]:
    """Lines that name the payloads' types: for type checkers, and at run time."""
    typed = [queue for queue in queues if queue.module]
    modules = [(queue.module, queue.alias.partition(".")[0]) for queue in typed]
    checked = [f"import {name} as {alias}" for name, alias in sorted(modules)]
    checked += [""] if checked else []  # black wants it after imports
    checked += [f"{q.payload}: _typing.TypeAlias = {q.alias}" for q in typed]
    return checked, [f"{queue.payload} = _typing.Any" for queue in typed]
