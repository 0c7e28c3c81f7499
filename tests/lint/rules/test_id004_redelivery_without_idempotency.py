"""ID004: queues that hand an item more than once to work that is not idempotent."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml


def policy(operation: str, worker: str = "consume", queue: str = "") -> str:
    """A queue with a worker."""
    return (
        "version: 1\nservice: worker\nowner: w\noperations:\n"
        f"  handle: {{transport: http, {operation}}}\n"
        "queues:\n  jobs:\n    store: sqlite\n    path: jobs.db\n    max_size: 10\n"
        f"    {worker}: {{operation: worker.handle}}\n{queue}"
    )


@pytest.mark.parametrize(
    ("operation", "severity"),
    [
        ("idempotent: false", Severity.ERROR),
        ("budget: 2s", Severity.WARNING),
        ("idempotent: true", None),
        ("idempotent: false, idempotency: {key: [job.id]}", None),
    ],
)
def test_nature_of_the_work(operation: str, severity: Severity | None) -> None:
    """Stated is an error, unstated a warning, a key or idempotent work is fine."""
    for worker in ("consume", "upload"):
        found = lint_yaml(policy(operation, worker), "ID004")
        assert [d.severity for d in found] == ([] if severity is None else [severity])
        assert all(d.span.line == 11 for d in found)


def test_message() -> None:
    """The number of deliveries is named, the default too."""
    (found,) = lint_yaml(policy("idempotent: false"), "ID004")
    assert found.message == (
        "queue worker.jobs delivers an item up to 5 times, and worker.handle is "
        "not idempotent"
    )
    unlimited = policy("idempotent: false", queue="    max_deliveries: off\n")
    assert "delivers an item without limit" in lint_yaml(unlimited, "ID004")[0].message


def test_a_single_delivery_is_not_repeated() -> None:
    """With one delivery at most, nothing comes twice."""
    text = policy("idempotent: false", queue="    max_deliveries: 1\n")
    assert lint_yaml(text, "ID004") == []
