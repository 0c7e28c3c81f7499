"""TB002: calls without a limit for the whole."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\n"


@pytest.mark.parametrize(
    ("settings", "severity", "lasts"),
    [
        (
            "attempt_timeout: 2s\nretry: {max_attempts: 3, retry_after: off}",
            Severity.ERROR,
            "lasts up to 6.3s (3 attempts and the waits)",
        ),
        (
            "attempt_timeout: 2s\nretry: {max_attempts: 3}",
            Severity.ERROR,
            "lasts up to 26s (3 attempts and the waits)",
        ),
        ("attempt_timeout: 2s", Severity.WARNING, "lasts up to 2s"),
        (
            "attempt_timeout: 2s\nhedge: {delay: 100ms, max_hedges: 2}",
            Severity.ERROR,
            "lasts up to 2.2s",
        ),
        ("budget: {inherit: false}", Severity.WARNING, "has no limit at all"),
        (
            "attempt_timeout: 2s\nbulkhead: {max_concurrent: 2, max_wait: 1s}",
            Severity.WARNING,
            "lasts up to 3s",
        ),
    ],
)
def test_missing_budgets(settings: str, severity: Severity, lasts: str) -> None:
    """The message works the worst case out: 3 x 2 s + 0.3 s, hints of 10 s included."""
    (found,) = lint_yaml(operation_yaml(HEAD + settings), "TB002")
    assert found.severity is severity
    assert found.message == f"payment_api.charge has no budget: one call {lasts}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "severity", "lasts"),
    [
        (1, Severity.WARNING, "lasts up to 2s"),
        (2, Severity.ERROR, "lasts up to 4.1s (2 attempts and the waits)"),
    ],
)
def test_the_second_attempt_makes_it_an_error(
    attempts: int, severity: Severity, lasts: str
) -> None:
    """One attempt of 2 s; or two and 0.1 s between them."""
    retry = f"retry: {{max_attempts: {attempts}, retry_after: off}}"
    text = operation_yaml(f"{HEAD}attempt_timeout: 2s\n{retry}")
    (found,) = lint_yaml(text, "TB002")
    assert found.severity is severity
    assert found.message == f"payment_api.charge has no budget: one call {lasts}"


def test_one_caller_without_a_budget_is_enough() -> None:
    """All declared callers must give each request a budget; one that does not counts."""
    callers = "".join(
        f"---\nversion: 1\nservice: {name}\nowner: s\n"
        f"calls: [{{to: payment_api.charge}}]\n{inbound}"
        for name, inbound in (
            ("shop", "inbound: {budget: {default: 10s}}\n"),
            ("kiosk", ""),
        )
    )
    text = operation_yaml(f"{HEAD}attempt_timeout: 2s")
    assert len(lint_yaml(text + callers, "TB002")) == 1


@pytest.mark.parametrize(
    ("settings", "service"),
    [
        ("budget: 5s", ""),
        ("budget: {inherit: true}", ""),
        ("attempt_timeout: 2s", "class: batch"),
        ("retry: {max_attempts: unlimited}", "class: control_loop"),
    ],
)
def test_bounded_or_not_asked(settings: str, service: str) -> None:
    """A budget, an inherited one, and background work are fine."""
    assert lint_yaml(operation_yaml(HEAD + settings, service), "TB002") == []


def test_local_operations_are_not_asked() -> None:
    """What never leaves the process needs no budget of its own."""
    assert lint_yaml(operation_yaml("transport: local"), "TB002") == []


@pytest.mark.parametrize(
    ("budget", "count"), [("{default: 10s}", 0), ("{max: 30s}", 1)]
)
def test_callers_under_a_budget_will_do(budget: str, count: int) -> None:
    """Where every caller gives each request a default budget, calls inherit it."""
    shop = (
        "version: 1\nservice: shop\nowner: s\ncalls: [{to: payment_api.charge}]\n"
        f"inbound: {{budget: {budget}, bulkhead: {{max_concurrent: 5}}}}\n"
    )
    text = operation_yaml(f"{HEAD}attempt_timeout: 2s")
    assert len(lint_yaml(f"{text}---\n{shop}", "TB002")) == count


def test_help_keeps_the_behaviour() -> None:
    """The suggested budget is the worst case, cut up to two digits."""
    text = operation_yaml(f"{HEAD}attempt_timeout: 2s\nretry: {{retry_after: off}}")
    (found,) = lint_yaml(text, "TB002")
    assert found.help == "set budget: 6.3s, which keeps the behaviour, or less"
    assert (found.span.line, found.span.column) == (5, 3)
