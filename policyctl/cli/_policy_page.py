"""The pages of ``explain SERVICE[.OPERATION]``, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyctl.cli import (
    _explain_draw,
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


def as_text(page: Page, looked: Looked, color: bool) -> str:
    """The page as text; ``looked`` says what lint made of it."""
    lines = list(_service_lines(page, color))
    if page.settings:
        lines += ["", *_table(page.settings, color)]
    calls = list(_calls_lines(page, color))
    lines += calls if page.whole else []
    for operation in page.operations:
        lines += ["", *_operation_lines(operation, page, color)]
    lines += [] if page.whole else calls
    for queue in page.queues:
        lines += ["", _bold(f"{queue.service}.{queue.name}", color) + " (queue)"]
        lines += [f"  {queue.span}", ""]
        lines += _table(list(_explain_values.of_queue(queue)), color)
    lines += ["", _bold("Lint", color), *_explain_rules.lines(looked)]
    return "\n".join(lines) + "\n"


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


def _calls_lines(page: Page, color: bool) -> Iterator[str]:
    """What is called: of a service before its operations, of one operation after it."""
    for call in page.calls[:MOST_CALLS]:
        yield ""
        yield from _call_lines(call, color)
    if len(page.calls) > MOST_CALLS:
        yield ""
        yield f"and {len(page.calls) - MOST_CALLS:,} more calls; --format json lists all"


def _call_lines(call: Call, color: bool) -> Iterator[str]:
    own = "" if call.policy is None else ", with settings of its own:"
    rate = f"{call.per_request:g} per request"
    yield f"calls {_bold(call.to, color)}, {rate}, {call.mode}{own}"
    yield f"  {call.span}"
    if call.policy is not None:
        yield ""
        yield from _table(list(_explain_values.of_operation(call.policy)), color)
        yield ""
        yield from _worst_case(call.policy)


def _operation_lines(operation: Operation, page: Page, color: bool) -> Iterator[str]:
    yield _bold(operation.id, color)
    yield f"  {operation.span}"
    if operation.description:
        yield f"  {operation.description}"
    yield ""
    yield "  order, outermost first: " + " > ".join(order(operation))
    yield ""
    values = list(_explain_values.of_operation(operation))
    if values:
        yield from _table(values, color)
        yield ""
    yield from _worst_case(operation)
    yield from _explain_load.lines(operation, page.context)


def _table(values: list[Value], color: bool) -> Iterator[str]:
    """Path, value and origin in columns, the blocks apart."""
    path_width = max((len(value.path) for value in values), default=0)
    texts = [len(value.text) for value in values if len(value.text) <= 32]
    text_width = max(texts, default=0)
    before: Value | None = None
    for value in values:
        if before is not None and _starts_block(before.path, value.path):
            yield ""
        before = value
        origin = f"\033[2m{value.origin}\033[0m" if color else value.origin
        yield f"  {value.path:<{path_width}}  {value.text:<{text_width}}  {origin}"


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
