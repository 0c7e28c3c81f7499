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


@pytest.mark.boundary
@pytest.mark.parametrize(("deliveries", "count"), [(1, 0), (2, 1)])
def test_the_second_delivery_is_the_first_repeat(deliveries: int, count: int) -> None:
    """With one delivery at most, nothing comes twice; with two it may."""
    text = policy("idempotent: false", queue=f"    max_deliveries: {deliveries}\n")
    assert [d.message for d in lint_yaml(text, "ID004")] == [
        (
            "queue worker.jobs delivers an item up to 2 times, and worker.handle is not "
            "idempotent"
        )
    ] * count


def test_a_queue_without_a_worker_repeats_nothing() -> None:
    """What takes items out of the queue is not known, so nothing is said of it."""
    text = policy("idempotent: false").replace(
        "    consume: {operation: worker.handle}\n", ""
    )
    assert lint_yaml(text, "ID004") == []
