"""TB003: one attempt may last as long as the whole call."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

RETRIED = "transport: http\nidempotent: true\nretry: {max_attempts: 2}\n"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "budget", "sign"), [("5s", "3s", ">"), ("3s", "3s", "=")]
)
def test_no_room_for_a_retry(attempt: str, budget: str, sign: str) -> None:
    """With retries, an attempt as long as the budget is an error; equality counts."""
    text = operation_yaml(f"{RETRIED}attempt_timeout: {attempt}\nbudget: {budget}")
    (found,) = lint_yaml(text, "TB003")
    assert found.severity is Severity.ERROR
    assert found.message == (
        f"attempt_timeout {attempt} {sign} budget {budget}: "
        "no retry can follow an attempt that timed out"
    )
    needed = {"5s": "11s", "3s": "6.1s"}[attempt]
    assert found.help == f"set attempt_timeout: 1.4s or less, or budget: {needed}"
    assert (found.span.line, found.span.column) == (9, 22)
    (related,) = found.related
    assert related.span.line == 10


@pytest.mark.boundary
def test_just_below_the_budget_is_left_to_tb004() -> None:
    """An attempt shorter than the budget is not this rule's business."""
    text = operation_yaml(f"{RETRIED}attempt_timeout: 2999ms\nbudget: 3s")
    assert lint_yaml(text, "TB003") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("attempt", "count"), [("3s", 0), ("3001ms", 1)])
def test_a_single_attempt_may_last_as_long_as_the_budget(
    attempt: str, count: int
) -> None:
    """Without retries equality is fine, and a millisecond more can never be reached."""
    text = f"transport: http\nretry: {{max_attempts: 1}}\nattempt_timeout: {attempt}\n"
    found = lint_yaml(operation_yaml(f"{text}budget: 3s"), "TB003")
    assert [(d.severity, d.message) for d in found] == [
        (
            Severity.WARNING,
            "attempt_timeout 3.001s > budget 3s: it can never take effect",
        )
    ] * count


def test_single_attempt_is_a_dead_setting() -> None:
    """Without retries only a longer attempt is reported, as a warning."""
    single = "transport: http\nattempt_timeout: {}s\nbudget: 3s"
    (found,) = lint_yaml(operation_yaml(single.format(5)), "TB003")
    assert found.severity is Severity.WARNING
    assert found.message == ("attempt_timeout 5s > budget 3s: it can never take effect")
    assert lint_yaml(operation_yaml(single.format(3)), "TB003") == []


@pytest.mark.parametrize(
    ("retry_on", "severity"),
    [
        ("[not_sent]", Severity.INFO),
        ("[not_sent, ConnectionResetError]", Severity.INFO),
        ("[not_sent, timeout]", Severity.ERROR),
        ("[OSError]", Severity.ERROR),
        ("[TimeoutError]", Severity.ERROR),
    ],
)
def test_retries_of_fast_failures_alone_are_info(
    retry_on: str, severity: Severity
) -> None:
    """Where timeouts are not retried, the numbers may be meant."""
    text = operation_yaml(
        f"transport: http\nretry: {{max_attempts: 2, retry_on: {retry_on}}}\n"
        "attempt_timeout: 5s\nbudget: 3s"
    )
    (found,) = lint_yaml(text, "TB003")
    assert found.severity is severity


@pytest.mark.parametrize(
    "missing",
    [
        "attempt_timeout: 5s",
        "budget: 3s",
        "attempt_timeout: {connect: 5s}\nbudget: 3s",
        "attempt_timeout: 5s\nbudget: {inherit: true}",
    ],
)
def test_one_number_alone_proves_nothing(missing: str) -> None:
    """Without a timeout or without a budget there is nothing to compare."""
    assert lint_yaml(operation_yaml(RETRIED + missing), "TB003") == []


def test_unlimited_attempts_get_half_the_budget() -> None:
    """The advice for a control loop leaves room for at least two attempts."""
    text = operation_yaml(
        "transport: http\nidempotent: true\nretry: {max_attempts: unlimited}\n"
        "attempt_timeout: 5s\nbudget: 3s",
        service="class: control_loop",
    )
    (found,) = lint_yaml(text, "TB003")
    assert found.help == "set attempt_timeout: 1.4s or less, or budget: 11s"


def test_inherited_numbers_are_shown_where_they_come_from() -> None:
    """A timeout under defaults is the place; one of a preset is a related place."""
    rest = "transport: http\nidempotent: true\nretry: {max_attempts: 2}\nbudget: 3s"
    (own,) = lint_yaml(
        operation_yaml(rest, service="defaults: {attempt_timeout: 5s}"), "TB003"
    )
    assert (own.span.line, own.span.column) == (4, 29)
    preset = "version: 1\npreset: slow\ndefaults:\n  attempt_timeout: 5s\n"
    text = operation_yaml(rest, service="extends: [slow]")
    (found,) = lint_yaml(text, "TB003", files={"slow.yaml": preset})
    assert (found.span.path, found.span.line) == ("policy.yaml", 6)
    assert (found.related[0].span.path, found.related[0].span.line) == ("slow.yaml", 4)
    assert found.related[0].message == "attempt_timeout.total comes from preset slow"
