"""SU002: comments that stand beside nothing."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

MARK = "# policyctl: ignore[RT001] because"


@pytest.mark.parametrize(
    "settings",
    [
        f"transport: http\n{MARK}\n\nattempt_timeout: 2s",
        f"transport: http\nattempt_timeout: 2s\n{MARK}",
    ],
)
def test_nothing_below(settings: str) -> None:
    """A blank line or the end of the document below a comment leaves it alone."""
    (found,) = lint_yaml(operation_yaml(settings), "SU002")
    assert found.message == "the suppression of RT001 stands beside no key"
    assert found.fix is not None


@pytest.mark.parametrize(
    "settings",
    [
        f"transport: http  {MARK}",
        f"{MARK}\ntransport: http",
        f"{MARK}\n# another comment\n# and one more\ntransport: http",
        f"transport: http\nretry:\n  retry_on:\n    - not_sent  {MARK}",
        f"transport: http\nretry: {{\n  max_attempts: 4\n}}  {MARK}",
    ],
)
def test_beside_or_above_a_key_or_item(settings: str) -> None:
    """The key's line, comment lines above it, items, and the end of a flow value."""
    assert lint_yaml(operation_yaml(settings), "SU002") == []


@pytest.mark.parametrize(
    ("at", "codes"),
    [
        ("operations.nowhere", ["SU002"]),
        ("operations.nowhere.retry", ["SU002"]),
        ("queues.jobs", ["SU002"]),
        ("operations.charge", ["SU004"]),
        ("operations", ["SU004"]),
        ("facts", ["SU004"]),
    ],
)
def test_a_list_entry_that_leads_nowhere(at: str, codes: list[str]) -> None:
    """A path to an operation or queue that does not exist, and that alone, is said."""
    entry = f"ignore: [{{rule: RT001, at: {at}, reason: lease loop}}]"
    text = operation_yaml("transport: http", entry)
    assert [d.code for d in lint_yaml(text, "SU", "RT001")] == codes
