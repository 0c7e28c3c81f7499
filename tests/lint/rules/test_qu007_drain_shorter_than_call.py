"""QU007: uploads that cannot finish when the process stops."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml


def policy(
    drain: str, idempotent: str = "idempotent: false", timeout: str = "9s"
) -> str:
    """An upload whose call takes up to 9 s."""
    limit = f", attempt_timeout: {timeout}" if timeout else ""
    return (
        "version: 1\nservice: agent\nowner: a\noperations:\n"
        f"  send: {{transport: http, {idempotent}{limit}}}\n"
        "queues:\n  reports:\n    store: sqlite\n    path: r.db\n    max_size: 10\n"
        f"    upload: {{operation: agent.send{drain}}}\n"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("drain", "count"), [(", drain: 9s", 0), (", drain: 8999ms", 1), ("", 0)]
)
def test_boundary(drain: str, count: int) -> None:
    """A drain as long as the call is enough; the default is 10 s."""
    found = lint_yaml(policy(drain), "QU007")
    assert len(found) == count
    if found:
        assert found[0].severity is Severity.WARNING
        assert found[0].message == (
            "drain 8.999s < 9s, the worst case of agent.send: a stop cuts a batch that "
            "is under way"
        )
        assert found[0].help == "set drain: 9s"


def test_idempotent_work_is_only_repeated() -> None:
    """Sending a batch again does no harm there."""
    (found,) = lint_yaml(policy(", drain: 1s", "idempotent: true"), "QU007")
    assert found.severity is Severity.INFO


def test_unbounded_calls_prove_nothing() -> None:
    """Without a timeout there is no worst case to compare with."""
    assert lint_yaml(policy(", drain: 1s", timeout=""), "QU007") == []
