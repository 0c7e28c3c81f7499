"""MX-05: a log field called ``name`` or ``args`` raises inside the logging call."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import structlog

from policyctl.runtime import settings
from policyctl.runtime.events import EVENTS
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.telemetry import enable, trouble
from policyctl.runtime.telemetry.json_lines import JsonFormatter
from policyctl.runtime.telemetry.switch import SWITCH

_numbers = count(1)
CONTEXT = (
    "name",
    "message",
    "exc_info",
    "process",
    "args",
    "module",
    "filename",
    "msg",
)
RETRY = settings.Retry(
    max_attempts=2,
    backoff=settings.Backoff(initial=0.0, max=0.0),
    retry_on=("Exception",),
)


class Broken:
    """A value whose texts fail."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


class BrokenError(Exception):
    """An error that cannot be shown, and with attributes that records have too."""

    name = Broken()
    args = ()
    message = Broken()
    process = Broken()

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def _structlog() -> logging.Formatter:
    """What structlog makes of records of the standard library."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_logger_name,
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso"),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
    )


FORMATTERS: dict[str, Any] = {
    "standard": lambda: logging.Formatter("%(name)s %(message)s"),
    "json": JsonFormatter,
    "structlog": _structlog,
}


@pytest.fixture
def service() -> Iterator[str]:
    """A service's name of the test's own."""
    name = f"mx_05_{next(_numbers)}"
    listeners = EVENTS.listeners
    yield name
    EVENTS.listeners = listeners
    trouble.forget()
    SWITCH.services.pop(name, None)
    for policy in [policy for policy in registry if policy.startswith(name)]:
        registry.forget(policy)
    logging.getLogger(f"policyctl.{name}").handlers.clear()


def listen(service: str, handler: logging.Handler) -> None:
    """Hand the service's lines to a handler alone."""
    logger = logging.getLogger(f"policyctl.{service}")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    enable(service, logs="text")


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_context_with_the_names_of_a_record(formatter: str, service: str) -> None:
    """Calls with such arguments, and errors that cannot be shown, end as they would."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(FORMATTERS[formatter]())
    handler.handleError = _fail  # type: ignore[method-assign]
    listen(service, handler)
    policy = Policy(service=service, operation="read", retry=RETRY)
    seen: list[str] = []

    @policy
    def work(**context: Any) -> int:
        seen.extend(context)
        if len(seen) == len(CONTEXT):
            raise BrokenError
        return 5

    assert work(**dict.fromkeys(CONTEXT, Broken())) == 5
    assert seen == [*CONTEXT, *CONTEXT]
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert all("<BrokenError without a text>" in line for line in lines)
    if formatter != "standard":
        events = [json.loads(line)["policyctl"]["event"] for line in lines]
        assert events == ["attempt_failed", "retry"]


def _fail(record: logging.LogRecord) -> None:
    raise AssertionError(f"a handler failed: {record!r}")


def test_context_of_the_application_in_the_json_formatter() -> None:
    """Extra fields of any name and value are nested and shown as far as they can be."""
    record = logging.makeLogRecord(
        {
            "name": "app",
            "msg": "fine",
            "levelname": "INFO",
            "user": Broken(),
            "numbers": {1: float("inf")},
        }
    )
    line = json.loads(JsonFormatter().format(record))
    assert line["message"] == "fine"
    assert line["extra"] == {
        "user": "<Broken without a text>",
        "numbers": {"1": "inf"},
    }


@pytest.mark.parametrize("where", ["emit", "filter", "formatter"])
def test_a_log_that_fails(
    where: str,
    service: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the log raises, results are what they would be; it is said once."""
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def raising(*args: Any) -> Any:
        raise OSError("disk full")

    handler = logging.StreamHandler(io.StringIO())
    if where == "emit":
        monkeypatch.setattr(handler, "emit", raising)
    elif where == "filter":
        handler.addFilter(raising)
    else:
        monkeypatch.setattr(handler, "format", raising)
    listen(service, handler)
    policy = Policy(service=service, operation="read", retry=RETRY)

    def work() -> int:
        raise ValueError("of the callee")

    for _ in range(3):
        with pytest.raises(ValueError, match="of the callee"):
            policy.call(work)
    said = [r for r in caplog.records if "a listener" in r.getMessage()]
    assert len(said) <= 1


def test_a_log_that_fails_for_its_own_errors_too(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the report of a broken log reaches the caller."""

    def raising(*args: Any, **kwargs: Any) -> Any:
        raise OSError("disk full")

    monkeypatch.setattr(logging.Logger, "handle", raising)
    enable(service, logs="text")
    policy = Policy(service=service, operation="read", retry=RETRY)

    def work() -> int:
        raise ValueError("of the callee")

    with pytest.raises(ValueError, match="of the callee"):
        policy.call(work)
