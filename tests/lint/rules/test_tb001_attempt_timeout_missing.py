"""TB001: remote calls without a limit for one attempt."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.parametrize(
    ("settings", "severity"),
    [
        ("transport: http\nidempotent: true", Severity.ERROR),
        ("transport: http\nbudget: 2s", Severity.WARNING),
        ("transport: http\nbudget: 2s\nretry: {max_attempts: 1}", Severity.WARNING),
        ("transport: http\nbudget: 2s\nretry: {max_attempts: 2}", Severity.ERROR),
        ("transport: grpc\nbudget: 2s\ncircuit_breaker: {}", Severity.ERROR),
        ("transport: http\nattempt_timeout: {connect: 1s}", Severity.ERROR),
        ("bulkhead: {max_concurrent: 3}", Severity.ERROR),
        (
            "kind: stream\ntransport: http\nattempt_timeout: {first_item: 2s}",
            Severity.ERROR,
        ),
    ],
)
def test_unbounded_attempts_are_found(settings: str, severity: Severity) -> None:
    """A call that nothing or only its budget ends is reported, retries make it worse."""
    (found,) = lint_yaml(operation_yaml(settings), "TB001")
    assert found.severity is severity


@pytest.mark.parametrize(
    "settings",
    [
        "transport: http\nattempt_timeout: 5s",
        "transport: local\nbulkhead: {max_concurrent: 3}",
        "kind: stream\ntransport: http\nattempt_timeout: {idle: 15s}",
        "kind: stream\ntransport: http\nattempt_timeout: {total: 15s}",
    ],
)
def test_bounded_and_local_calls_are_left_alone(settings: str) -> None:
    """A total, an idle limit of a stream, or a local transport satisfies the rule."""
    assert lint_yaml(operation_yaml(settings), "TB001") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "severity", "ends"),
    [
        (1, Severity.WARNING, "only the budget of 2s ends it"),
        (
            2,
            Severity.ERROR,
            (
                "a hung first attempt uses the whole budget of 2s, and none of the 2 "
                "attempts follows it"
            ),
        ),
    ],
)
def test_the_second_attempt_makes_it_an_error(
    attempts: int, severity: Severity, ends: str
) -> None:
    """The budget ends the only attempt; a second one would never begin."""
    text = operation_yaml(
        f"transport: http\nbudget: 2s\nretry: {{max_attempts: {attempts}}}"
    )
    (found,) = lint_yaml(text, "TB001")
    assert found.severity is severity
    assert found.message == f"nothing bounds one attempt of payment_api.charge: {ends}"


@pytest.mark.parametrize("latency", ["{mean: 1s}", "{p50: 1s}", "{p99: 0s}"])
def test_without_a_tail_nothing_is_worked_out(latency: str) -> None:
    """The help stays general, and there is no fix."""
    text = operation_yaml(f"transport: http\nfacts: {{latency: {latency}}}")
    (found,) = lint_yaml(text, "TB001")
    assert found.help is not None
    assert found.help.startswith(
        "set attempt_timeout to the larger of the p99.9 and 3 x"
    )
    assert found.fix is None


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("latency", "suggestion"),
    [
        ("{p99: 200ms}", "600ms (3 x p99 of 200ms)"),
        ("{p99: 200ms, p999: 600ms}", "600ms (3 x p99 of 200ms)"),
        ("{p99: 200ms, p999: 601ms}", "610ms (p99.9)"),
        ("{p99: 250ms, p999: 750ms}", "750ms (3 x p99 of 250ms)"),
        ("{p99: 200ms, p999: 900ms}", "900ms (p99.9)"),
    ],
)
def test_help_works_the_timeout_out(latency: str, suggestion: str) -> None:
    """With measured latency, the help names the larger of p99.9 and 3 x p99."""
    text = operation_yaml(f"transport: http\nfacts: {{latency: {latency}}}")
    (found,) = lint_yaml(text, "TB001")
    assert found.help == f"set attempt_timeout: {suggestion}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "help", "fixed"),
    [
        ("1300ms", "600ms (3 x p99 of 200ms)", "600ms"),
        ("1299ms", "590ms (the longest that fits into the budget)", "590ms"),
        ("500ms", "200ms (the longest that fits into the budget)", "200ms"),
        (
            "499ms",
            ("600ms (3 x p99 of 200ms) and budget: 1.3s, which 2 such attempts need"),
            None,
        ),
        (
            "50ms",
            ("600ms (3 x p99 of 200ms) and budget: 1.3s, which 2 such attempts need"),
            None,
        ),
    ],
)
def test_help_looks_at_the_budget(budget: str, help: str, fixed: str | None) -> None:
    """Two attempts of 600 ms and 0.1 s take 1.3 s; of the p99, 200 ms, 500 ms."""
    text = operation_yaml(
        f"transport: http\nidempotent: true\nbudget: {budget}\n"
        "retry: {max_attempts: 2}\nfacts: {latency: {p99: 200ms}}"
    )
    (found,) = lint_yaml(text, "TB001")
    assert found.help == f"set attempt_timeout: {help}"
    edits = () if found.fix is None else found.fix.edits
    assert [edit.text.strip() for edit in edits] == (
        [] if fixed is None else [f"attempt_timeout: {fixed}"]
    )


def test_streams_get_no_number() -> None:
    """The latency of a call says nothing about the gaps in a stream."""
    text = operation_yaml(
        "kind: stream\ntransport: http\nfacts: {latency: {p99: 200ms}}"
    )
    (found,) = lint_yaml(text, "TB001")
    assert found.help is not None
    assert found.help.startswith("set attempt_timeout: {idle: …}")
    assert found.fix is None


def test_points_at_the_block_or_else_the_operation() -> None:
    """An absent timeout is shown at the operation, a partial one at its block."""
    (absent,) = lint_yaml(operation_yaml("transport: http"), "TB001")
    assert (absent.span.line, absent.span.column) == (5, 3)
    text = operation_yaml("transport: http\nattempt_timeout:\n  connect: 1s")
    (partial,) = lint_yaml(text, "TB001")
    assert (partial.span.line, partial.span.column) == (7, 5)


def test_switched_off_preset_is_found() -> None:
    """A timeout that a preset sets and the operation switches off is missing."""
    preset = "version: 1\npreset: base\ndefaults: {attempt_timeout: 2s}\n"
    text = operation_yaml(
        "transport: http\nattempt_timeout: off", service="extends: [base]"
    )
    (found,) = lint_yaml(text, "TB001", files={"base.yaml": preset})
    assert found.policy_path == "payment_api.operations.charge.attempt_timeout"
    kept = text.replace("    attempt_timeout: off\n", "")
    assert lint_yaml(kept, "TB001", files={"base.yaml": preset}) == []
