"""Events as log lines: what they say, how many there are, and what cannot break them."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.events import EVENTS, Event
from policyctl.runtime.policy import Policy
from policyctl.runtime.telemetry import enable
from policyctl.runtime.telemetry.json_lines import JsonFormatter
from policyctl.runtime.telemetry.lines import line_of
from policyctl.runtime.telemetry.listener import WHILE, Bound, log_state
from policyctl.runtime.telemetry.plain import MOST, plain, text
from policyctl.testing import FakeClock

BREAKER = settings.CircuitBreaker(failure_threshold=3)


class Unavailable(Exception):
    """An error with a status."""

    status_code = 503


RETRY = settings.Retry(
    max_attempts=2,
    backoff=settings.Backoff(initial=0.5, max=0.5, jitter="none"),
    retry_on=(Unavailable,),
)


def unavailable() -> None:
    """What is guarded."""
    raise Unavailable("try later")


@pytest.fixture
def records(service: str) -> list[logging.LogRecord]:
    """What the service's logger hands out."""
    found: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    logger = logging.getLogger(f"policyctl.{service}")
    logger.addHandler(Keep())
    logger.setLevel(logging.DEBUG)
    return found


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of an event."""
    found: dict[str, Any] = record.__dict__["policyctl"]
    return found


def of(records: list[logging.LogRecord], event: str) -> list[logging.LogRecord]:
    """The records of one kind of event."""
    return [record for record in records if fields(record)["event"] == event]


def test_the_failure_line(
    service: str, records: list[logging.LogRecord], clock: FakeClock
) -> None:
    """It says who, what, how often, how long, why it stopped and how the circuit is."""
    enable(service, logs="text")
    policy = Policy(
        service=service, operation="read", retry=RETRY, circuit_breaker=BREAKER
    )
    with pytest.raises(Exception, match="try later"):
        policy.call(unavailable)
    (record,) = of(records, "failed")
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        f"{service}.read: failed: Unavailable: try later; status 503; "
        "2 attempts in 0.500 s; waited 0.500 s; "
        "stopped: max_attempts is 2; circuit breaker closed"
    )
    assert fields(record) == {
        "event": "failed",
        "service": service,
        "operation": "read",
        "error": {"type": "Unavailable", "message": "try later"},
        "status": 503,
        "attempts": 2,
        "waited": 0.5,
        "duration": 0.5,
        "reason": "max_attempts is 2",
        "circuit_breaker": "closed",
    }
    (retry,) = of(records, "retry")
    assert retry.levelname == "INFO"
    assert fields(retry)["delay"] == 0.5


def test_an_error_that_is_not_retried(
    service: str, records: list[logging.LogRecord]
) -> None:
    """The compiled wrapper's short way out is logged as well."""
    enable(service, logs="text")
    policy = Policy(service=service, operation="read")

    @policy
    def work() -> None:
        raise ValueError("bad input")

    for _ in range(2):
        with pytest.raises(ValueError):
            work()
    lines = [record.getMessage() for record in of(records, "failed")]
    assert len(lines) == 2
    assert all("failed: ValueError: bad input; 1 attempt in" in line for line in lines)


def test_levels_of_transitions(
    service: str, records: list[logging.LogRecord], clock: FakeClock
) -> None:
    """An opening circuit is a warning, a recovering one is not."""
    enable(service, logs="text")
    breaker = settings.CircuitBreaker(failure_threshold=1, success_threshold=1)
    policy = Policy(service=service, operation="read", circuit_breaker=breaker)
    with pytest.raises(Unavailable):
        policy.call(unavailable)
    clock.advance(120.0)
    policy.call(lambda: 1)
    lines = [(r.levelname, r.getMessage()) for r in of(records, "transition")]
    name = f"{service}.read: circuit breaker went from"
    assert lines == [
        ("WARNING", f"{name} closed to open"),
        ("INFO", f"{name} open to half_open"),
        ("INFO", f"{name} half_open to closed"),
    ]


def test_rejections_are_bounded(
    service: str, records: list[logging.LogRecord], clock: FakeClock
) -> None:
    """One line in ten seconds, the next says how many were left out."""
    enable(service, logs="text")
    breaker = settings.CircuitBreaker(
        failure_threshold=1, recovery_timeout=settings.Recovery(initial=600.0)
    )
    policy = Policy(service=service, operation="read", circuit_breaker=breaker)
    guarded = policy(unavailable)
    with pytest.raises(Unavailable):
        guarded()
    for _ in range(1000):
        with pytest.raises(CircuitOpenError):
            guarded()
    clock.advance(WHILE)
    with pytest.raises(CircuitOpenError):
        guarded()
    first, second = of(records, "rejected")
    assert fields(first)["reason"] == "circuit_open"
    assert "left_out" not in fields(first)
    assert fields(second)["left_out"] == 999
    assert second.getMessage().endswith("(and 999 more like this before)")


def test_the_bound() -> None:
    """So many pass in a while; the first after it says how many did not."""
    bound = Bound()
    passed = [bound.passes(("a",), 2, now) for now in (0.0, 1.0, 2.0, 9.9, 10.0, 10.1)]
    assert passed == [0, 0, None, None, 2, 0]
    assert bound.passes(("b",), 2, 10.1) == 0


def test_other_services_do_not_log(
    service: str, records: list[logging.LogRecord]
) -> None:
    """A service without logs is silent, and so is one with metrics alone."""
    enable(service, metrics="prometheus")
    with pytest.raises(Unavailable):
        Policy(service=service, operation="read").call(unavailable)
    assert records == []


def test_json_goes_to_standard_error(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """``logs: json`` has a handler of its own and writes each line once."""
    enable(service, logs="json")
    with pytest.raises(Unavailable):
        Policy(service=service, operation="read").call(unavailable)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (line,) = [line for line in lines if line["policyctl"]["event"] == "failed"]
    assert (line["level"], line["logger"]) == ("WARNING", f"policyctl.{service}")
    assert line["policyctl"]["status"] == 503
    assert not logging.getLogger(f"policyctl.{service}").propagate


def test_an_application_that_took_charge(
    service: str, records: list[logging.LogRecord], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a handler is there already, none is added."""
    enable(service, logs="json")
    with pytest.raises(Unavailable):
        Policy(service=service, operation="read").call(unavailable)
    assert len(of(records, "failed")) == 1
    assert capsys.readouterr().err == ""


def test_a_handler_that_calls_guarded_code(service: str) -> None:
    """What happens while a line is handled is not logged again."""
    enable(service, logs="text")
    policy = Policy(service=service, operation="ship")
    seen: list[str] = []

    class Ship(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.getMessage())
            with pytest.raises(Unavailable):
                policy.call(unavailable)

    logger = logging.getLogger(f"policyctl.{service}")
    logger.addHandler(Ship())
    logger.propagate = False
    with pytest.raises(Unavailable):
        policy.call(unavailable)
    assert len(seen) == 1


def test_the_state_in_a_heartbeat(
    service: str, records: list[logging.LogRecord], clock: FakeClock
) -> None:
    """It names circuits that are not closed and carries all statistics."""
    enable(service, logs="text", heartbeat=30.0)
    breaker = settings.CircuitBreaker(failure_threshold=1)
    policy = Policy(service=service, operation="read", circuit_breaker=breaker)
    log_state(service)
    policy.circuit_breaker.force_open()
    log_state(service)
    first, second = of(records, "heartbeat")
    assert first.getMessage() == f"{service}: alive, no circuit open"
    assert second.getMessage() == f"{service}: alive, read forced_open"
    state = fields(second)["operations"]["read"]["circuit_breaker"]["state"]
    assert state == "forced_open"


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("fallback", {"error": OSError("x")}, "the fallback answers for OSError: x"),
        (
            "abandoned",
            {},
            "a call over its attempt timeout still runs in its thread",
        ),
        (
            "queue_level",
            {"above": True, "size": 8, "max_size": 10},
            "the queue fills up: 8 of 10 items",
        ),
        (
            "queue_level",
            {"above": False, "size": 6, "max_size": 10},
            "the queue has room again: 6 of 10 items",
        ),
        (
            "dead_lettered",
            {"id": "i1", "reason": "max_deliveries"},
            "item i1 is a dead letter: max_deliveries",
        ),
        ("dropped", {"id": "i1", "reason": "full"}, "item i1 was dropped: full"),
        ("dead_letters_full", {"id": "i1"}, "no room for the dead letter i1"),
        ("hedge", {}, "a hedge was sent"),
        ("fallback", {"error": OSError()}, "the fallback answers for OSError"),
        (
            "retry",
            {"attempt": 1, "delay": 0.25, "error": None},
            "attempt 1 gave a result to retry; the next follows in 0.250 s",
        ),
        (
            "attempt_failed",
            {"error": OSError("x"), "recorded": True, "duration": 1.0},
            "an attempt failed: OSError: x",
        ),
    ],
)
def test_lines_of_other_events(kind: str, data: dict[str, Any], message: str) -> None:
    """Every kind has its words; fields are ready for JSON."""
    line = line_of(Event(kind, "shop", "buy", data))
    assert line is not None
    assert line.message == f"shop.buy: {message}"
    json.dumps(line.fields)


def test_kinds_that_are_not_logged() -> None:
    """Those that another line tells better, and those that nobody knows."""
    assert line_of(Event("stopped", "shop", "buy", {})) is None
    assert line_of(Event("unheard_of", "shop", "buy", {})) is None


def test_values_for_json() -> None:
    """Depth, length, odd numbers and objects come out as plain values."""
    deep: dict[str, Any] = {"a": [1, (2.5, None)], "b": float("inf"), "c": object}
    found = plain(deep)
    assert found["a"] == [1, [2.5, None]]
    assert found["b"] == "inf"
    assert found["c"] == "<class 'object'>"
    looped: list[Any] = []
    looped.append(looped)
    assert json.dumps(plain(looped))
    assert len(text("x" * 10_000)) == MOST
    assert text("a\nb\x00\ud800") == "a\\nb\\x00\\ud800"


def test_the_json_formatter_takes_any_record() -> None:
    """Arguments that do not fit, odd extras and tracebacks make one line of JSON."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.Logger("app")
    logger.addHandler(handler)
    logger.warning("%d items", "no number")
    logger.warning("fine", extra={"user": {"id": 7}, "ratio": float("nan")})
    try:
        raise ValueError("\ud800")
    except ValueError:
        logger.exception("with a traceback")
    first, second, third = map(json.loads, stream.getvalue().splitlines())
    assert first["message"] == "%d items"
    assert second["extra"] == {"user": {"id": 7}, "ratio": "nan"}
    assert second["time"].endswith("Z")
    assert "Traceback" in third["exception"]


def test_a_listener_stays_where_it_was(service: str) -> None:
    """Switching on again adds no second listener."""
    before = len(EVENTS.listeners)
    enable(service, logs="text")
    enable(service, logs="text")
    enable(f"{service}_b", logs="text")
    assert len(EVENTS.listeners) <= before + 1
