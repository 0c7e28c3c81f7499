"""TB005: timeouts that cut healthy calls."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(
    attempt: str, latency: str = "{p50: 80ms, p99: 300ms}", more: str = ""
) -> str:
    """An operation with this timeout and latency."""
    return operation_yaml(
        f"{HEAD}attempt_timeout: {attempt}\nfacts: {{latency: {latency}}}\n{more}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "severity"),
    [
        ("300ms", None),
        ("299ms", Severity.WARNING),
        ("80ms", Severity.WARNING),
        ("79ms", Severity.ERROR),
    ],
)
def test_boundaries(attempt: str, severity: Severity | None) -> None:
    """Exactly the p99 is enough, exactly the median is a warning."""
    found = lint_yaml(policy(attempt), "TB005")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_messages_and_place() -> None:
    """The share of false timeouts is bounded by the quantile."""
    (tail,) = lint_yaml(policy("250ms"), "TB005")
    assert tail.message == (
        "attempt_timeout 250ms < p99 300ms: more than 1% of healthy calls time out"
    )
    assert tail.help == "set attempt_timeout: 900ms"
    assert (tail.span.line, tail.span.column) == (8, 22)
    (median,) = lint_yaml(policy("50ms", more="retry: {max_attempts: 2}"), "TB005")
    assert median.message == (
        "attempt_timeout 50ms < p50 80ms: more than half of healthy calls time out "
        "and are tried again"
    )


def test_p999_is_the_better_timeout() -> None:
    """Where the p99.9 is known, the help names it."""
    (found,) = lint_yaml(policy("250ms", "{p99: 300ms, p999: 450ms}"), "TB005")
    assert found.help == "set attempt_timeout: 450ms"


def test_the_median_alone_gives_a_timeout_too() -> None:
    """Three times the median, where the tail is not known."""
    (found,) = lint_yaml(policy("50ms", "{p50: 80ms}"), "TB005")
    assert found.help == "set attempt_timeout: 240ms"


P50, P99 = (f"payment_api.operations.charge.facts.latency.p{n}" for n in (50, 99))


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("latency", "absent"),
    [
        ("{mean: 1ms}", [P99]),
        ("{p50: 1ms}", [P99]),
        ("{p99: 1ms}", []),
        ("{p50: 1ms, p99: 1ms}", []),
    ],
)
def test_missing_latency_is_named(latency: str, absent: list[str]) -> None:
    """Without the p99 a timeout over the median proves nothing."""
    result = run_yaml(policy("1ms", latency), "TB005")
    assert result.diagnostics == ()
    assert [skip.fact for skip in result.coverage.skipped] == absent
    unknown = run_yaml(operation_yaml(f"{HEAD}attempt_timeout: 1ms"), "TB005")
    assert unknown.diagnostics == ()
    assert [skip.fact for skip in unknown.coverage.skipped] == [P99]


@pytest.mark.missing_facts
def test_missing_median_would_tell_how_bad_it_is() -> None:
    """Below the p99 it is a warning, and an error only where the median says so."""
    result = run_yaml(policy("79ms", "{p99: 300ms}"), "TB005")
    assert [d.severity for d in result.diagnostics] == [Severity.WARNING]
    assert [skip.fact for skip in result.coverage.skipped] == [P50]


@pytest.mark.parametrize(
    ("retry", "again"),
    [
        ("{retry_on: [timeout]}", True),
        ("{retry_on: [TimeoutError]}", True),
        ("{retry_on: [OSError]}", True),
        ("{retry_on: [OSError], never_retry_on: [timeout]}", False),
        ("{retry_on: [not_sent]}", False),
        ("{retry_on: [not_sent], retry_if: a.b:c}", False),
        ("{max_attempts: 1, retry_on: [timeout]}", False),
    ],
)
def test_what_is_tried_again(retry: str, again: bool) -> None:
    """Any name that covers timeouts repeats them; a predicate proves nothing."""
    (found,) = lint_yaml(policy("250ms", more=f"retry: {retry}"), "TB005")
    assert found.message.endswith(" and are tried again") is again


@pytest.mark.parametrize("timeout", ["off", "{connect: 1ms}"])
def test_calls_without_a_total_cut_nothing(timeout: str) -> None:
    """Only a limit of the whole attempt cuts healthy calls."""
    result = run_yaml(policy(timeout, "{mean: 1ms}"), "TB005")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


def test_hedged_operations_cut_their_tail_on_purpose() -> None:
    """A hedge takes over where the attempt is cut."""
    assert lint_yaml(policy("250ms", more="hedge: {delay: 100ms}"), "TB005") == []


def test_timeout_of_a_preset_is_shown_there() -> None:
    """An inherited timeout is a related place."""
    preset = "version: 1\npreset: quick\ndefaults: {attempt_timeout: 100ms}\n"
    text = operation_yaml(
        f"{HEAD}facts: {{latency: {{p99: 300ms}}}}", service="extends: [quick]"
    )
    (found,) = lint_yaml(text, "TB005", files={"quick.yaml": preset})
    assert str(found.related[0].span) == "quick.yaml:3:29"
