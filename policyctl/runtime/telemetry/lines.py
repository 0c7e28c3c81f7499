"""What the log says of an event: level, message and fields.

Fields are finished values of our own making: no object of the application goes to a log
handler.
"""

from __future__ import annotations

from typing import Any

from policyctl.runtime.status import status_of
from policyctl.runtime.telemetry.meter import OTHER, REJECTIONS
from policyctl.runtime.telemetry.plain import error as error_fields
from policyctl.runtime.telemetry.plain import plain, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.events import Event

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40

MOST = {
    "rejected": 1,
    "retry": 10,
    "failed": 10,
    "fallback": 10,
    "abandoned": 10,
    "dead_lettered": 10,
    "dropped": 10,
    "dead_letters_full": 10,
}
"""How many lines of a kind an operation or queue logs in a while; others have no bound."""


class Line:
    """One line of the log.

    Attributes:
        level: as in ``logging``.
        message: for people, in one line.
        fields: for machines, ready for JSON.
    """

    __slots__ = ("fields", "level", "message")

    def __init__(
        self,
        level: int,
        message: str,
        fields: dict[str, Any] | None = None,
    ) -> None:
        self.level = level
        self.message = message
        self.fields = fields or {}


def line_of(event: Event) -> Line | None:
    """The line for an event; None for those that another one tells better."""
    make = _LINES.get(event.kind)
    if make is None:
        return None
    line = make(event.data)
    name = (
        event.service if not event.operation else f"{event.service}.{event.operation}"
    )
    line.message = f"{text(name)}: {line.message}"
    names = {
        "event": event.kind,
        "service": text(event.service),
        "operation": text(event.operation),
    }
    line.fields = {**names, **line.fields}
    return line


def _transition(data: dict[str, Any]) -> Line:
    old, new = data["old"], data["new"]
    fields = {"old": old, "new": new}
    which = "circuit breaker"
    if "key" in data:
        fields["key"] = plain(data["key"])
        which += f" of {text(data['key'])}"
    level = WARNING if new in ("open", "forced_open") else INFO
    return Line(level, f"{which} went from {old} to {new}", fields)


def _rejected(data: dict[str, Any]) -> Line:
    refusal = data["error"]
    reason = REJECTIONS.get(type(refusal).__name__, OTHER)
    message = f"refused: {text(refusal.reason)}"
    return Line(WARNING, message, {"reason": reason, "error": error_fields(refusal)})


def _retry(data: dict[str, Any]) -> Line:
    attempt, delay, found = data["attempt"], data["delay"], data["error"]
    fields = {"attempt": attempt, "delay": delay, **_outcome(found)}
    what = "gave a result to retry" if found is None else f"failed: {_text(found)}"
    message = f"attempt {attempt} {what}; the next follows in {delay:.3f} s"
    return Line(INFO, message, fields)


def _failed(data: dict[str, Any]) -> Line:
    fields = {**data, **_outcome(data["error"])}
    attempts = data["attempts"]
    noun = "attempt" if attempts == 1 else "attempts"
    parts = [f"failed: {_text(data['error'])}"]
    if "status" in fields:
        parts.append(f"status {fields['status']}")
    parts.append(f"{attempts} {noun} in {data['duration']:.3f} s")
    parts.append(f"waited {data['waited']:.3f} s")
    if data["reason"]:
        parts.append(f"stopped: {data['reason']}")
    if data["circuit_breaker"] is not None:
        parts.append(f"circuit breaker {data['circuit_breaker']}")
    return Line(WARNING, "; ".join(parts), fields)


def _fallback(data: dict[str, Any]) -> Line:
    message = f"the fallback answers for {_text(data['error'])}"
    return Line(WARNING, message, _outcome(data["error"]))


def _abandoned(data: dict[str, Any]) -> Line:
    return Line(WARNING, "a call over its attempt timeout still runs in its thread")


def _attempt_failed(data: dict[str, Any]) -> Line:
    fields = {"recorded": data["recorded"], "duration": data["duration"]}
    message = f"an attempt failed: {_text(data['error'])}"
    return Line(DEBUG, message, {**fields, **_outcome(data["error"])})


def _hedge(data: dict[str, Any]) -> Line:
    return Line(DEBUG, "a hedge was sent")


def _queue_level(data: dict[str, Any]) -> Line:
    size, most = data["size"], data["max_size"]
    if data["above"]:
        return Line(WARNING, f"the queue fills up: {size} of {most} items", plain(data))
    return Line(INFO, f"the queue has room again: {size} of {most} items", plain(data))


def _queue(level: int, what: str) -> Callable[[dict[str, Any]], Line]:
    def make(data: dict[str, Any]) -> Line:
        return Line(level, what.format_map(plain(data)), plain(data))

    return make


_LINES: dict[str, Callable[[dict[str, Any]], Line]] = {
    "transition": _transition,
    "rejected": _rejected,
    "retry": _retry,
    "failed": _failed,
    "fallback": _fallback,
    "abandoned": _abandoned,
    "attempt_failed": _attempt_failed,
    "hedge": _hedge,
    "queue_level": _queue_level,
    "dead_lettered": _queue(WARNING, "item {id} is a dead letter: {reason}"),
    "dropped": _queue(WARNING, "item {id} was dropped: {reason}"),
    "dead_letters_full": _queue(ERROR, "no room for the dead letter {id}"),
}


def _text(found: BaseException) -> str:
    what = text(found)
    name = type(found).__qualname__
    return f"{name}: {what}" if what else name


def _outcome(found: BaseException | None) -> dict[str, Any]:
    if found is None:
        return {}
    status = status_of(found)
    fields: dict[str, Any] = {"error": error_fields(found)}
    if status is not None:
        fields["status"] = plain(status)
    return fields
