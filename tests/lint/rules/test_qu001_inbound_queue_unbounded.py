"""QU001: servers whose requests queue without a bound."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(inbound: str, facts: str = "") -> str:
    """A service as a server."""
    return f"version: 1\nservice: search_api\nowner: s\n{facts}inbound: {inbound}\n"


@pytest.mark.parametrize(
    ("inbound", "severity"),
    [
        ("{rate_limit: {rate: 500/s}}", Severity.ERROR),
        ("{budget: {default: 10s}}", Severity.ERROR),
        ("{bulkhead: {max_concurrent: 20}}", None),
        ("{bulkhead: {max_concurrent: 20, mode: observe}}", Severity.WARNING),
    ],
)
def test_limits(inbound: str, severity: Severity | None) -> None:
    """Only a bulkhead that enforces bounds the queue; unknown workers are milder."""
    found = lint_yaml(policy(inbound, "facts: {workers: 16}\n"), "QU001")
    assert [d.severity for d in found] == ([] if severity is None else [severity])
    unknown = lint_yaml(policy(inbound), "QU001")
    assert [d.severity for d in unknown] == (
        [] if severity is None else [Severity.WARNING]
    )


def test_help_takes_the_workers() -> None:
    """As many slots as workers, where they are stated."""
    (found,) = lint_yaml(
        policy("{rate_limit: {rate: 500/s}}", "facts: {workers: 16}\n"), "QU001"
    )
    assert found.help == "add bulkhead: {max_concurrent: 16, max_wait: 50ms} to inbound"
    assert found.policy_path == "search_api.inbound"


@pytest.mark.missing_facts
def test_unknown_workers_are_named() -> None:
    """Whether anything bounds the requests in work decides between error and warning."""
    result = run_yaml(policy("{rate_limit: {rate: 500/s}}"), "QU001")
    assert [d.severity for d in result.diagnostics] == [Severity.WARNING]
    assert [s.fact for s in result.coverage.skipped] == ["search_api.facts.workers"]
    bounded = run_yaml(policy("{bulkhead: {max_concurrent: 20}}"), "QU001")
    assert bounded.coverage.skipped == ()


def test_clients_are_not_asked() -> None:
    """A document without `inbound` says nothing about a server."""
    text = "version: 1\nservice: a\nowner: a\noperations: {get: {transport: http}}\n"
    assert lint_yaml(text, "QU001") == []
