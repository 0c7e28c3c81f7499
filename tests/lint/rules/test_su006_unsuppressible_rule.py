"""SU006: suppressions of rules that may not be suppressed."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import operation_yaml, run_yaml

TEXT = operation_yaml(
    "transport: http\nidempotent: true\n"
    "retry: {max_attempts: 4}  # policyctl: ignore[RT001] because"
)


@pytest.mark.parametrize("word", ["RT001", "too-many-attempts"])
def test_configured_rules_stay_visible(word: str) -> None:
    """A rule listed as unsuppressible is reported, and the attempt to hide it too."""
    result = run_yaml(TEXT, "RT001", "SU", unsuppressible=(word,))
    assert [(d.code, d.suppressed) for d in result.diagnostics] == [
        ("RT001", None),
        ("SU006", None),
    ]


def test_other_rules_can_be_hidden() -> None:
    """Without the setting, the finding is marked with its reason."""
    (found,) = run_yaml(TEXT, "RT001", "SU").diagnostics
    assert found.suppressed is not None
    assert found.suppressed.reason == "because"
    assert found.suppressed.span.line == 8
