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


@pytest.mark.parametrize(
    ("rate", "severity"),
    [
        ("0.69/m", None),
        ("0.70/m", Severity.WARNING),
        ("16.7/m", Severity.WARNING),
        ("16.8/m", Severity.ERROR),
    ],
)
def test_severities(rate: str, severity: Severity | None) -> None:
    """1 - 0.999^10 = 0.99551 % of windows of ten calls trip.

    At r calls a minute that is 0.0099551 x 1440 r / 10 = 1.43354 r a day: one from
    r = 0.6976 on, 24 from r = 16.742 on.
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


def test_missing_facts_are_named() -> None:
    """Rate and callers are needed."""
    result = run_yaml(policy("{failure_ratio: 10%}", "{failure_ratio: 1%}"), "CB002")
    assert [s.fact.rpartition(".")[2] for s in result.coverage.skipped] == [
        "callers",
        "rate",
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
