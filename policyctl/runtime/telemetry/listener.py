"""Events as lines of the standard log, and no more of them than anybody reads."""

from __future__ import annotations

import logging
import os
from _thread import allocate_lock
from threading import local
from typing import Any

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.telemetry.lines import INFO, MOST, Line, line_of
from policyctl.runtime.telemetry.plain import plain, text
from policyctl.runtime.telemetry.switch import SWITCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.events import Event

_MOST_KINDS = 4096
WHILE = 10.0
"""Seconds over which lines of one kind are counted."""


class Bound:
    """Lets so many lines of a kind pass in a while, and counts the others."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._kinds: dict[tuple[str, ...], tuple[float, int]] = {}

    def passes(self, kind: tuple[str, ...], most: int, now: float) -> int | None:
        """None to leave the line out, else how many were left out before it."""
        with self._lock:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
            since, count = self._kinds.get(kind, (now, 0))
            left_out = max(0, count - most)
            if now - since >= WHILE:
                self._kinds[kind] = now, 1
                return left_out
            self._kinds[kind] = since, count + 1
            return 0 if count < most else None

    def after_fork(self) -> None:
        """In a child process: a fresh lock."""
        self._lock = allocate_lock()


class LogListener:
    """Logs the events of those services that want it, each on a logger of its own.

    What a log handler causes itself, such as sending lines by a guarded call, is not
    logged again.
    """

    def __init__(self) -> None:
        self._bound = Bound()
        self._here = local()
        self._lock = allocate_lock()
        self._prepared: set[str] = set()

    def __call__(self, event: Event) -> None:
        sinks = SWITCH.services.get(event.service)
        if sinks is None or sinks.logs is None or self._is_busy:
            return
        most, left_out = MOST.get(event.kind), 0
        if most is not None:
            error = type(event.data.get("error")).__name__
            kind = event.service, event.operation, event.kind, error
            passes = self._bound.passes(kind, most, CLOCK.now())
            if passes is None:
                return
            left_out = passes
        line = line_of(event)
        if line is None:
            return
        if left_out:
            line.message += f" (and {left_out} more like this before)"
            line.fields["left_out"] = left_out
        self.log(event.service, line)

    @property
    def _is_busy(self) -> bool:
        return getattr(self._here, "busy", False)

    def after_fork(self) -> None:
        """In a child process: fresh locks."""
        self._lock = allocate_lock()
        self._bound.after_fork()

    def log(self, service: str, line: Line) -> None:
        """Log a line of a service."""
        logger = self._logger(service)
        if self._is_busy or not logger.isEnabledFor(line.level):
            return
        self._here.busy = True
        try:
            logger.log(line.level, "%s", line.message, extra={"policyctl": line.fields})
        finally:
            self._here.busy = False

    def _logger(self, service: str) -> logging.Logger:
        logger = logging.getLogger(f"policyctl.{text(service)}")
        if service not in self._prepared:
            with self._lock:
                if service not in self._prepared:
                    if SWITCH.services[service].logs == "json":
                        _write_json(logger)
                    self._prepared.add(service)
        return logger


def _write_json(logger: logging.Logger) -> None:
    """Lines of JSON on standard error, unless the application has taken charge."""
    if logger.handlers or logging.getLogger("policyctl").handlers:
        return
    from policyctl.runtime.telemetry.json_lines import JsonFormatter

    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)


LISTENER = LogListener()
"""The listener of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LISTENER.after_fork)


def log_state(service: str) -> None:
    """Log how the operations of a service are, as its heartbeat."""
    from policyctl.runtime.registry import registry

    states: dict[str, Any] = {
        policy.operation: policy.statistics() for policy in registry.of_service(service)
    }
    unwell = [
        f"{text(name)} {state['circuit_breaker']['state']}"
        for name, state in states.items()
        if state.get("circuit_breaker", {}).get("state", "closed") != "closed"
    ]
    message = f"{text(service)}: alive, {', '.join(unwell) or 'no circuit open'}"
    names = {"event": "heartbeat", "service": text(service)}
    fields = {**names, "operations": plain(states)}
    LISTENER.log(service, Line(INFO, message, fields))
