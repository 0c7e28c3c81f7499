"""HY004: environment overlays that switch a protection off."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


def policy(environments: str) -> str:
    """An operation with these overlays."""
    return operation_yaml(
        "transport: http\nattempt_timeout: 1s\ncircuit_breaker: {}\nretry: {}",
        f"environments: {environments}",
    )


@pytest.mark.parametrize(
    ("environments", "message", "severity"),
    [
        (
            "{production: {operations: {charge: {circuit_breaker: off}}}}",
            "environment production switches off circuit_breaker of charge",
            Severity.WARNING,
        ),
        (
            "{staging: {operations: {charge: {circuit_breaker: off}}}}",
            "environment staging switches off circuit_breaker of charge",
            Severity.INFO,
        ),
        (
            "{live_eu: {defaults: {attempt_timeout: off}}}",
            "environment live_eu switches off attempt_timeout of all operations",
            Severity.WARNING,
        ),
        (
            "{prod: {operations: {charge: {circuit_breaker: {mode: observe}}}}}",
            "environment prod sets mode observe for circuit_breaker of charge",
            Severity.WARNING,
        ),
        ("{prod: {operations: {charge: {retry: off}}}}", None, Severity.INFO),
        ("{prod: {operations: {charge: {attempt_timeout: 2s}}}}", None, Severity.INFO),
        (
            "{prod: {operations: {charge: {circuit_breaker: {mode: enforce}}}}}",
            None,
            Severity.INFO,
        ),
    ],
)
def test_overlays(environments: str, message: str | None, severity: Severity) -> None:
    """Protections that are taken away are named; retries are none."""
    found = lint_yaml(policy(environments), "HY004")
    assert [d.message for d in found] == ([] if message is None else [message])
    assert all(d.severity is severity for d in found)


def test_place_is_the_overlay() -> None:
    """The finding points into the overlay and can be suppressed there."""
    text = policy(
        "\n  prod:\n    operations:\n      charge:\n        circuit_breaker: off"
    )
    (found,) = lint_yaml(text, "HY004")
    assert (found.span.line, found.span.column) == (8, 26)
    marked = text.replace(
        "circuit_breaker: off", "circuit_breaker: off  # policyctl: ignore[HY004] drill"
    )
    assert lint_yaml(marked, "HY004") == []
