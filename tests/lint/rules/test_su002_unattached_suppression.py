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
