"""TL001: retries and circuit breakers that nobody sees at work."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

RETRY = "transport: http\nidempotent: true\nretry: {max_attempts: 2}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("settings", "service", "severity"),
    [
        (RETRY, "", Severity.INFO),
        (RETRY, "critical: true", Severity.WARNING),
        (RETRY, "telemetry: {metrics: prometheus}", None),
        (RETRY, "telemetry: {logs: json}", Severity.INFO),
        ("transport: http\ncircuit_breaker: {}", "", Severity.INFO),
        ("transport: http\nretry: {max_attempts: 1}", "", None),
        ("transport: http\nattempt_timeout: 1s", "", None),
    ],
)
def test_what_works_unseen(
    settings: str, service: str, severity: Severity | None
) -> None:
    """Metrics are asked for where something retries or breaks circuits.

    Two attempts are a retry, one is none.
    """
    found = lint_yaml(operation_yaml(settings, service), "TL001")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("number", "shown"),
    [(3, "op0, op1 and op2"), (4, "op0, op1 and 2 more"), (5, "op0, op1 and 3 more")],
)
def test_one_finding_for_a_service(number: int, shown: str) -> None:
    """Three operations are listed; of more, two."""
    operations = "".join(
        f"  op{i}: {{transport: http, circuit_breaker: {{}}}}\n" for i in range(number)
    )
    text = f"version: 1\nservice: wide\noperations:\n{operations}"
    (found,) = lint_yaml(text, "TL001")
    assert found.message == f"retries or circuit breakers of {shown} leave no metrics"
