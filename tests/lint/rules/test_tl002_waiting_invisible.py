"""TL002: queues and bulkheads whose waiting nobody sees."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("settings", "service", "shown"),
    [
        ("bulkhead: {max_concurrent: 2, max_wait: 0s}", "", None),
        (
            "bulkhead: {max_concurrent: 2, max_wait: 1us}",
            "",
            "the bulkhead of charge",
        ),
        (
            "budget: 2s",
            "inbound: {bulkhead: {max_concurrent: 2, max_wait: 0s}}",
            None,
        ),
        (
            "bulkhead: {max_concurrent: 2, max_wait: 50ms}",
            "",
            "the bulkhead of charge",
        ),
        ("bulkhead: {max_concurrent: 2}", "", None),
        (
            "budget: 2s",
            "inbound: {bulkhead: {max_concurrent: 2, max_wait: 50ms}}",
            "the inbound bulkhead",
        ),
        (
            "bulkhead: {max_concurrent: 2, max_wait: 50ms}",
            "telemetry: {metrics: opentelemetry}",
            None,
        ),
        (
            "budget: 2s",
            "queues: {jobs: {store: sqlite, path: jobs.db, max_size: 9}}",
            "queue jobs",
        ),
    ],
)
def test_places_where_something_waits(
    settings: str, service: str, shown: str | None
) -> None:
    """Queues always, bulkheads where calls may wait, for a microsecond at least."""
    found = lint_yaml(operation_yaml(f"transport: http\n{settings}", service), "TL002")
    assert [(d.severity, d.message) for d in found] == (
        []
        if shown is None
        else [(Severity.INFO, f"waiting in {shown} leaves no metrics")]
    )
