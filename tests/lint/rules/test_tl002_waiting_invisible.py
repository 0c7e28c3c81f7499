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


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (3, "queue q0, queue q1 and queue q2"),
        (4, "queue q0, queue q1 and 2 more"),
    ],
)
def test_many_places_are_abbreviated(number: int, shown: str) -> None:
    """Three are listed; of more, two."""
    queues = "".join(
        f"  q{i}: {{store: sqlite, path: q{i}.db, max_size: 9}}\n"
        for i in range(number)
    )
    text = f"version: 1\nservice: wide\nowner: w\nqueues:\n{queues}"
    (found,) = lint_yaml(text, "TL002")
    assert found.message == f"waiting in {shown} leaves no metrics"
