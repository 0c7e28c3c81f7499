"""SU005: comments that look like suppressions and are none."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\nretry: {max_attempts: 4}"


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# policyctl: ignore", "names no rule"),
        ("# policyctl: ignore RT001 because", "names no rule"),
        ("# policyctl: ignore[] because", "names no rule"),
        ("# policyctl: disable=RT001", "is not understood"),
        (
            "# policyctl: ignore[RT001] because until=soon",
            "has 'soon' as its last day, which is no date",
        ),
        (
            "# policyctl: ignore[RT001] because until=2026-13-01",
            "has '2026-13-01' as its last day, which is no date",
        ),
    ],
)
def test_forms(comment: str, problem: str) -> None:
    """A wrong form is reported and hides nothing."""
    text = operation_yaml(f"{HEAD}  {comment}")
    found = lint_yaml(text, "RT001", "SU005")
    assert [d.code for d in found] == ["RT001", "SU005"]
    assert found[1].message == f"this suppression {problem}"


@pytest.mark.parametrize(
    "comment",
    [
        "# policyctl: ignore[RT001] because",
        "#policyctl:ignore[RT001] because",
        "# policyctl ignore[RT001]: because",
        "# policyctl: ignore[ RT001 ] because",
        "# policyctl: ignore[RT001] until=2030-01-01 because",
        "# the numbers of policyctl: see the guide",
    ],
)
def test_accepted_forms(comment: str) -> None:
    """Spaces do not matter, and other comments are left alone."""
    assert lint_yaml(operation_yaml(f"{HEAD}  {comment}"), "SU005") == []
