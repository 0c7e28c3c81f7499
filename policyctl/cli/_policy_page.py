"""The pages of ``explain SERVICE[.OPERATION]``, for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyctl.cli import (
    _explain_draw,
    _explain_fit,
    _explain_load,
    _explain_rules,
    _explain_time,
    _explain_values,
)
from policyctl.cli._explain_rules import Looked
from policyctl.cli._explain_values import Value
from policyctl.lint import show
from policyctl.lint.context import Context
from policyctl.resolve.policy import Call, Operation, Queue, Retry, Service
from policyctl.resolve.worst_case import longest_hint

ORDER = (
    "fallback",
    "idempotency",
    "budget",
    "retry",
    "hedge",
    "circuit_breaker",
    "rate_limit",
    "bulkhead",
    "attempt_timeout",
)
"""The patterns, outermost first (contract line C1); the call is innermost."""

MOST_CALLS = 20
"""Calls that the page shows; JSON has all of them."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is explained: a service with the operations and queues that were asked for.

    ``whole`` when the service itself was, and not one part of it.
    """

    service: Service
    operations: tuple[Operation, ...]
    queues: tuple[Queue, ...]
    context: Context
    whole: bool = False

    @property
    def settings(self) -> list[Value]:
        """What is in force for the service as a whole."""
        return list(_explain_values.of_service(self.service)) if self.whole else []

    @property
    def calls(self) -> tuple[Call, ...]:
        """What the service calls, or the operations that were asked for."""
        own = self.service.calls if self.whole else ()
        return (*own, *(call for item in self.operations for call in item.calls))

    def as_json(self) -> dict[str, Any]:
        """The page as JSON data; durations are seconds, rates per second."""
        service = self.service
        return {
            "service": {
                "name": service.name,
                "path": service.path,
                "line": service.span.line,
                "owner": service.owner,
                "class": service.service_class,
                "critical": service.critical,
                "extends": list(service.extends),
            },
            "settings": [value.as_json() for value in self.settings],
            "calls": [_call_json(call) for call in self.calls],
            "operations": [_operation_json(item, self) for item in self.operations],
            "queues": [
                {
                    "name": f"{queue.service}.{queue.name}",
                    "settings": [v.as_json() for v in _explain_values.of_queue(queue)],
                }
                for queue in self.queues
            ],
        }


@dataclass(frozen=True, slots=True)
class _Shape:
    """How text is set: with colours, for a terminal of ``width`` columns or any."""

    color: bool
    width: int | None


def order(operation: Operation) -> list[str]:
    """The patterns of an operation, outermost first, the call included."""
    return [name for name in ORDER if getattr(operation, name) is not None] + ["call"]


def _operation_json(operation: Operation, page: Page) -> dict[str, Any]:
    traffic = page.context.traffic.of_operation(operation)
    return {
        "name": operation.id,
        "path": operation.span.path,
        "line": operation.span.line,
        "order": order(operation),
        "settings": [v.as_json() for v in _explain_values.of_operation(operation)],
        "worst_case": _explain_time.of_operation(operation).as_json(),
        "called_by": [e.caller for e in page.context.graph.callers(operation.id)],
        "traffic": {"rate": traffic.rate, "callers": traffic.callers},
        **_explain_load.as_json(operation, page.context),
    }


def _call_json(call: Call) -> dict[str, Any]:
    own = None if call.policy is None else _explain_values.of_operation(call.policy)
    return {
        "to": call.to,
        "per_request": call.per_request,
        "mode": call.mode,
        "override": None if own is None else [value.as_json() for value in own],
    }


def as_text(page: Page, looked: Looked, color: bool, width: int | None = None) -> str:
    """The page as text, for ``width`` columns if that is given.

    ``looked`` says what lint made of it.
    """
    shape = _Shape(color, width)
    lines = list(_service_lines(page, color))
    if page.settings:
        lines += ["", *_table(page.settings, shape)]
    calls = list(_calls_lines(page, shape))
    lines += calls if page.whole else []
    for operation in page.operations:
        lines += ["", *_operation_lines(operation, page, shape)]
    lines += [] if page.whole else calls
    for queue in page.queues:
        lines += ["", _bold(f"{queue.service}.{queue.name}", color) + " (queue)"]
        lines += [f"  {queue.span}", ""]
        lines += _table(list(_explain_values.of_queue(queue)), shape)
    lines += ["", _bold("Lint", color), *_explain_rules.lines(looked)]
    whole = "\n".join(lines) + "\n"
    return whole if width is None else _explain_fit.text(whole, width)


def _service_lines(page: Page, color: bool) -> Iterator[str]:
    service = page.service
    yield f"{_bold(service.name, color)} ({service.service_class} service)"
    yield f"  {service.span}"
    if service.description:
        yield f"  {service.description}"
    if service.owner:
        yield f"  owner {service.owner}"
    if service.extends:
        yield f"  extends {', '.join(service.extends)}"


def _calls_lines(page: Page, shape: _Shape) -> Iterator[str]:
    """What is called: of a service before its operations, of one operation after it."""
    for call in page.calls[:MOST_CALLS]:
        yield ""
        yield from _call_lines(call, shape)
    if len(page.calls) > MOST_CALLS:
        yield ""
        yield f"and {len(page.calls) - MOST_CALLS:,} more calls; --format json lists all"


def _call_lines(call: Call, shape: _Shape) -> Iterator[str]:
    own = "" if call.policy is None else ", with settings of its own:"
    rate = f"{call.per_request:g} per request"
    yield f"calls {_bold(call.to, shape.color)}, {rate}, {call.mode}{own}"
    yield f"  {call.span}"
    if call.policy is not None:
        yield ""
        yield from _table(list(_explain_values.of_operation(call.policy)), shape)
        yield ""
        yield from _worst_case(call.policy)


def _operation_lines(operation: Operation, page: Page, shape: _Shape) -> Iterator[str]:
    yield _bold(operation.id, shape.color)
    yield f"  {operation.span}"
    if operation.description:
        yield f"  {operation.description}"
    yield ""
    yield "  order, outermost first: " + " > ".join(order(operation))
    yield ""
    values = list(_explain_values.of_operation(operation))
    if values:
        yield from _table(values, shape)
        yield ""
    yield from _worst_case(operation)
    yield from _explain_load.lines(operation, page.context)


def _table(values: list[Value], shape: _Shape) -> Iterator[str]:
    """Path, value and origin in columns, the blocks apart.

    Where a row would be too long, each block has columns of its own width.
    """
    blocks = list(_blocks(values))
    rows = [_row(value, _widths(values), shape) for value in values]
    wide = shape.width is None or max(map(len, rows), default=0) <= 1
    for number, block in enumerate(blocks):
        if number:
            yield ""
        widths = _widths(values) if wide else _widths(block, 12)
        for value in block:
            yield from _row(value, widths, shape)


def _row(value: Value, widths: tuple[int, int], shape: _Shape) -> list[str]:
    origin = f"\033[2m{value.origin}\033[0m" if shape.color else value.origin
    cells = (value.path, value.text, origin)
    return _explain_fit.row(cells, widths, shape.width or sys.maxsize)


def _widths(values: list[Value], longest: int = 32) -> tuple[int, int]:
    """Columns for paths and for values; values over ``longest`` stand out."""
    texts = [len(value.text) for value in values if len(value.text) <= longest]
    paths = [len(value.path) for value in values]
    return max(paths, default=0), max(texts, default=0)


def _blocks(values: list[Value]) -> Iterator[list[Value]]:
    block: list[Value] = []
    for value in values:
        if block and _starts_block(block[-1].path, value.path):
            yield block
            block = []
        block.append(value)
    if block:
        yield block


def _starts_block(before: str, path: str) -> bool:
    """Whether another block begins; scalars in a row stay together."""
    if "." not in before and "." not in path:
        return False
    return before.partition(".")[0] != path.partition(".")[0]


def _worst_case(operation: Operation) -> Iterator[str]:
    worst = _explain_time.of_operation(operation)
    if worst.attempts is None:
        yield "  attempts: without limit"
    else:
        beside = f", {worst.hedges} of them hedges" if worst.hedges else ""
        yield f"  attempts: {worst.attempts} at most{beside}"
    if worst.reachable is not None and worst.attempts != 1:
        yield (
            f"  if each is as slow as allowed: {worst.reachable} can begin, "
            f"{worst.complete} can last their whole timeout"
        )
    if worst.waits:
        waits = ", ".join(map(show.duration, worst.waits))
        more = " ..." if worst.attempts is None or worst.attempts > 6 else ""
        yield f"  longest waits between them: {waits}{more}"
    duration = worst.duration
    limit = "nothing bounds it" if duration is None else show.duration(duration)
    known = duration is not None and operation.retry is not None
    hint = _retry_after(operation.retry) if known and operation.retry else ""
    yield f"  one call at worst: {limit}{hint}"
    yield from _explain_draw.lines(worst.steps)


def _retry_after(retry: Retry) -> str:
    """Why the worst case is longer than the time line shows."""
    if retry.retry_after is None or retry.max_attempts == 1 or not longest_hint(retry):
        return ""
    most = retry.retry_after.max
    limit = "" if most is None else f" of up to {show.duration(most)}"
    return f", when a Retry-After hint{limit} replaces each wait"


def _bold(text: str, color: bool) -> str:
    return f"\033[1m{text}\033[0m" if color else text
