"""CB008: one lucky probe closes the circuit."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("breaker", "count"),
    [
        ("{success_threshold: 1}", 1),
        ("{success_threshold: 2}", 0),
        ("{}", 0),
        ("{success_threshold: 1, recovery_timeout: {multiplier: 2, max: 10m}}", 0),
        ("{success_threshold: 1, recovery_timeout: {multiplier: 1.01}}", 0),
        ("{success_threshold: 1, recovery_timeout: {multiplier: 1}}", 1),
        ("{success_threshold: 1, recovery_timeout: {multiplier: 2, max: 30s}}", 1),
        ("{success_threshold: 1, recovery_timeout: {multiplier: 2, max: 30001ms}}", 0),
        ("{success_threshold: 1, mode: disabled}", 0),
    ],
)
def test_one_probe_without_growth(breaker: str, count: int) -> None:
    """A second probe or a growing break is enough; one of 30 s, at most 30 s, is none."""
    text = operation_yaml(f"transport: http\ncircuit_breaker: {breaker}")
    assert len(lint_yaml(text, "CB008")) == count


@pytest.mark.parametrize(
    ("service", "severity"),
    [("critical: true", Severity.WARNING), ("", Severity.INFO)],
)
def test_severity_by_importance(service: str, severity: Severity) -> None:
    """Critical services get a warning."""
    text = operation_yaml(
        "transport: http\ncircuit_breaker: {success_threshold: 1}", service
    )
    (found,) = lint_yaml(text, "CB008")
    assert found.severity is severity
    assert found.message == (
        "one good probe closes the circuit: if half of the calls still fail, that "
        "happens with a chance of 50% (three: 12.5%)"
    )


def test_threshold_of_a_preset_is_shown_there() -> None:
    """An inherited threshold is a related place."""
    preset = "version: 1\npreset: quick\ndefaults:\n  circuit_breaker: {success_threshold: 1}\n"
    text = operation_yaml("transport: http", "extends: [quick]")
    (found,) = lint_yaml(text, "CB008", files={"quick.yaml": preset})
    assert str(found.related[0].span) == "quick.yaml:4:40"
