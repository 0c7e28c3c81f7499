"""SU003: suppressions whose last day has passed."""

from __future__ import annotations

from datetime import date

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

RETRY = "transport: http\nidempotent: true\nretry: {max_attempts: 4}"
COMMENT = operation_yaml(f"{RETRY}  # policyctl: ignore[RT001] until=2026-06-30 moving")
LISTED = operation_yaml(
    RETRY,
    service="ignore:\n  - {rule: RT001, reason: moving, until: 2026-06-30}",
)


@pytest.mark.boundary
def test_the_last_day_still_counts() -> None:
    """On the day itself the suppression holds; a day later it does not."""
    for text in (COMMENT, LISTED):
        assert lint_yaml(text, "RT001", "SU003", today=date(2026, 6, 30)) == []
        found = lint_yaml(text, "RT001", "SU003", today=date(2026, 7, 1))
        assert sorted(d.code for d in found) == ["RT001", "SU003"]


def test_message() -> None:
    """The day is named, and a comment can be removed."""
    (found,) = lint_yaml(COMMENT, "SU003", today=date(2026, 7, 1))
    assert found.message == "the suppression of RT001 ended on 2026-06-30"
    assert found.fix is not None
