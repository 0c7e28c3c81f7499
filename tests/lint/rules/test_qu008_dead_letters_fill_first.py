"""QU008: dead letters that hold less than the queue they come from."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("overflow", "size", "severity"),
    [
        ("dead_letter", 999, Severity.WARNING),
        ("dead_letter", 1000, None),
        ("reject", 999, Severity.INFO),
        ("reject", 1000, None),
    ],
)
def test_sizes(overflow: str, size: int, severity: Severity | None) -> None:
    """As many dead letters as items are enough."""
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: sqlite\n"
        f"    path: jobs.db\n    max_size: 1000\n    overflow: {overflow}\n"
        f"    dead_letter: {{max_size: {size}}}\n"
    )
    found = lint_yaml(text, "QU008")
    assert [d.severity for d in found] == ([] if severity is None else [severity])
    if found:
        assert found[0].message == "dead letters hold 999 items, and the queue 1000"
        assert found[0].span.line == 10


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("size", "better"),
    [
        (1000, 10_000),
        (1001, 10_010),
        (100_000_000, 1_000_000_000),
        (100_000_001, 1_000_000_000),
    ],
)
def test_advice_is_ten_times_the_queue_within_bounds(size: int, better: int) -> None:
    """At least 10,000 and at most the 10^9 that the language takes."""
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: sqlite\n"
        f"    path: jobs.db\n    max_size: {size}\n    dead_letter: {{max_size: 9}}\n"
    )
    (found,) = lint_yaml(text, "QU008")
    assert found.help == f"set dead_letter.max_size: {better}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("dead", "count"),
    [("", 0), ("    dead_letter: {max_size: 999}\n", 1), ("    dead_letter: {}\n", 0)],
)
def test_dead_letters_elsewhere_are_not_guessed(dead: str, count: int) -> None:
    """Our default says nothing about a queue that is not ours."""
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n"
        f"    store: external\n    max_size: 120000\n{dead}"
    )
    assert len(lint_yaml(text, "QU008")) == count


def test_one_dead_letter() -> None:
    """One is said in the singular."""
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: sqlite\n"
        "    path: jobs.db\n    max_size: 10\n    dead_letter: {max_size: 1}\n"
    )
    (found,) = lint_yaml(text, "QU008")
    assert found.message == "dead letters hold 1 item, and the queue 10"
