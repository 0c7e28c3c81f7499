"""CB002: circuit breakers that healthy traffic opens."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(breaker: str, facts: str) -> str:
    """An operation with this breaker and these facts."""
    return operation_yaml(f"{HEAD}facts: {facts}\ncircuit_breaker: {breaker}")


def test_the_example_of_the_catalogue() -> None:
    """10 % of 10 calls at 1 %: 1 - 0.99^10 = 9.562 %; x 86400 x 40/s / 10 = 33,050."""
    text = policy(
        "{failure_ratio: 10%, window: 10s, minimum_calls: 10}",
        "{rate: 40/s, callers: 40, failure_ratio: 1%}",
    )
    (found,) = lint_yaml(text, "CB002")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "healthy failures of 1% (stated) reach 10% in 9.562% of windows of 10 calls: "
        "circuits of all 40 processes together open falsely about 33050 times a day "
        "(estimate)"
    )
    assert found.help is not None
    assert found.help.startswith("set minimum_calls: 100 ")


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rate", "severity"),
    [
        ("0.697/m", None),
        ("0.698/m", Severity.WARNING),
        ("16.74/m", Severity.WARNING),
        ("16.75/m", Severity.ERROR),
    ],
)
def test_severities(rate: str, severity: Severity | None) -> None:
    """1 - 0.999^10 = 0.99551 % of windows of ten calls trip.

    At r calls a minute that is 0.0099551 x 1440 r / 10 = 1.43354 r a day: one at
    r = 0.69757, 24 at r = 16.7418.
    """
    text = policy(
        "{failure_ratio: 10%, window: 10 calls, minimum_calls: 10}",
        f"{{rate: {rate}, callers: 1}}",
    )
    found = lint_yaml(text, "CB002")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_a_full_window_counts_not_its_minimum() -> None:
    """A busy window of 1,000 calls does not trip on what ten calls would trip on."""
    facts = "{rate: 100/s, callers: 1, failure_ratio: 1%}"
    busy = policy("{failure_ratio: 10%, window: 10s, minimum_calls: 10}", facts)
    assert lint_yaml(busy, "CB002") == []
    calls = policy("{failure_ratio: 10%, window: 10 calls, minimum_calls: 10}", facts)
    assert len(lint_yaml(calls, "CB002")) == 1


SETTINGS = {"per_day": 10, "error_per_day": 10, "healthy_failures": "1%"}


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("name", "rate", "severity"),
    [
        ("per_day", "6.97/m", None),
        ("per_day", "6.98/m", Severity.WARNING),
        ("error_per_day", "6.97/m", Severity.WARNING),
        ("error_per_day", "6.98/m", Severity.ERROR),
        ("healthy_failures", "0.0726/m", None),
        ("healthy_failures", "0.0727/m", Severity.WARNING),
    ],
)
def test_thresholds_can_be_set(name: str, rate: str, severity: Severity | None) -> None:
    """1.43354 r a day are ten at r = 6.9757 a minute.

    With failures of 1 % it is 0.0956179 x 144 r = 13.769 r: one at r = 0.072627.
    """
    text = policy(
        "{failure_ratio: 10%, window: 10 calls, minimum_calls: 10}",
        f"{{rate: {rate}, callers: 1}}",
    )
    found = lint_yaml(text, "CB002", thresholds={"CB002": {name: SETTINGS[name]}})
    assert [d.severity for d in found] == ([] if severity is None else [severity])


@pytest.mark.boundary
@pytest.mark.parametrize(("minimum", "count"), [(10, 1), (11, 0)])
def test_windows_below_their_minimum_trip_on_nothing(minimum: int, count: int) -> None:
    """1/s x 10 s = 10 calls never reach a minimum of 11, which CB001 reports."""
    text = policy(
        f"{{failure_ratio: 10%, window: 10s, minimum_calls: {minimum}}}",
        "{rate: 1/s, callers: 1, failure_ratio: 1%}",
    )
    assert len(lint_yaml(text, "CB002")) == count


@pytest.mark.parametrize(
    ("window", "count"), [("window: 10s", 0), ("window: 10 calls", 1)]
)
def test_circuits_for_each_key(window: str, count: int) -> None:
    """How many calls each key has in 10 s is unknown; ten calls are ten calls."""
    text = policy(
        f'{{failure_ratio: 10%, {window}, minimum_calls: 10, scope: "argument:shop"}}',
        "{rate: 1/s, callers: 1, failure_ratio: 1%}",
    )
    assert len(lint_yaml(text, "CB002")) == count


def test_a_circuit_in_redis_is_one_for_all() -> None:
    """Its window holds 40/s x 10 s = 400 calls, where 10 % of failures never come.

    Ten of ten calls at 10 %: 1 - 0.99^10 = 9.562 % x 86400 x 40/s / 10 = 33,050 a day.
    """
    redis = "redis: {url_env: POLICY_REDIS_URL}\nowner:"
    facts = "{rate: 40/s, failure_ratio: 1%}"
    breaker = "{failure_ratio: 10%, window: 10%s, minimum_calls: 10, store: redis}"
    text = policy(breaker.replace("10%s", "10s"), facts).replace("owner:", redis)
    assert lint_yaml(text, "CB002") == []
    text = policy(breaker.replace("10%s", "10 calls"), facts).replace("owner:", redis)
    (found,) = lint_yaml(text, "CB002")
    assert found.message.endswith(
        "the circuit that all processes share opens falsely about 33050 times a day "
        "(estimate)"
    )


def test_a_circuit_of_the_service_sees_all_operations() -> None:
    """Two operations of 5 calls in 10 s fill a window of 10 calls together."""
    text = (
        "version: 1\nservice: payment_api\nowner: p\ndefaults:\n  transport: http\n"
        "  facts: {rate: 0.5/s, callers: 1, failure_ratio: 1%}\n  circuit_breaker: "
        "{scope: service, failure_ratio: 10%, window: 10s, minimum_calls: 10}\n"
        "operations: {charge: {idempotent: true}, refund: {idempotent: true}}\n"
    )
    found = lint_yaml(text, "CB002")
    assert ["in 9.562% of windows of 10 calls" in d.message for d in found] == [
        True
    ] * 2


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("38.98/s", 0), ("38.99/s", 1)])
def test_a_run_that_comes_once_a_day(rate: str, count: int) -> None:
    """86400 x 0.95 x 0.05^5 = 0.02565 a day for each call/s: one at 38.986/s."""
    text = policy(
        "{failure_threshold: 5}", f"{{rate: {rate}, callers: 4, failure_ratio: 5%}}"
    )
    assert len(lint_yaml(text, "CB002")) == count


@pytest.mark.parametrize(("failures", "count"), [("1%", 0), ("5%", 1)])
def test_failures_in_a_row(failures: str, count: int) -> None:
    """5 in a row at 40/s: 86400 x 40 x 0.95 x 0.05^5 = 1.026 a day; at 1 % 0.0003."""
    text = policy(
        "{failure_threshold: 5}",
        f"{{rate: 40/s, callers: 4, failure_ratio: {failures}}}",
    )
    found = lint_yaml(text, "CB002")
    assert len(found) == count
    if found:
        assert found[0].severity is Severity.WARNING
        assert found[0].message == (
            "healthy failures of 5% (stated) come 5 in a row by chance: circuits of all "
            "4 processes together open falsely about 1.026 times a day (estimate)"
        )


def test_unstated_failures_are_assumed() -> None:
    """Without facts.failure_ratio, 0.1 % is taken and said."""
    text = policy(
        "{failure_ratio: 10%, window: 10 calls, minimum_calls: 10}",
        "{rate: 10/s, callers: 1}",
    )
    (found,) = lint_yaml(text, "CB002")
    assert found.message.startswith("healthy failures of 0.1% (assumed) reach 10%")


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "lacking"),
    [
        ("{failure_ratio: 1%}", ["callers", "rate"]),
        ("{failure_ratio: 1%, rate: 40/s}", ["callers"]),
        ("{failure_ratio: 1%, callers: 40}", ["rate"]),
    ],
)
def test_missing_facts_are_named(facts: str, lacking: list[str]) -> None:
    """Rate and callers are needed."""
    result = run_yaml(policy("{failure_ratio: 1%}", facts), "CB002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        f"payment_api.operations.charge.facts.{fact}" for fact in lacking
    ]


def test_disabled_breakers_are_left_alone() -> None:
    """What is disabled does not open."""
    text = policy(
        "{failure_ratio: 1%, mode: disabled}",
        "{rate: 40/s, callers: 4, failure_ratio: 5%}",
    )
    assert lint_yaml(text, "CB002") == []


def test_ratio_of_a_preset_is_shown_there() -> None:
    """An inherited ratio is a related place."""
    preset = (
        "version: 1\npreset: nervous\ndefaults:\n"
        "  circuit_breaker: {failure_ratio: 1%, window: 10 calls, minimum_calls: 10}\n"
    )
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 40/s, callers: 4}}", "extends: [nervous]"
    )
    (found,) = lint_yaml(text, "CB002", files={"nervous.yaml": preset})
    assert str(found.related[0].span) == "nervous.yaml:4:36"
