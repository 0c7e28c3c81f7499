"""SU001: suppressions of rules that do not exist."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nattempt_timeout: 2s"


@pytest.mark.parametrize(
    ("code", "help"),
    [
        ("RT099", "did you mean RT009?"),
        ("rt001", "did you mean RT001?"),
        ("too-many-atempts", "did you mean too-many-attempts?"),
        ("VA101", "findings of this kind cannot be suppressed; mend what they name"),
        ("QQ123456", "`policyctl rules` lists the codes"),
    ],
)
def test_unknown_codes_get_the_nearest_one(code: str, help: str) -> None:
    """A code or name that no rule has is a finding with advice."""
    text = operation_yaml(f"{HEAD}  # policyctl: ignore[{code}] for a reason")
    (found,) = lint_yaml(text, "SU001")
    assert found.message == f"no rule is called `{code}`"
    if code != "RT099":
        assert found.help == help
    assert (found.span.line, found.span.column) == (7, 26)


def test_known_codes_and_names() -> None:
    """Codes and names of rules are known whether or not the rules run."""
    text = operation_yaml(
        f"{HEAD}  # policyctl: ignore[RT001, too-many-attempts] for a reason"
    )
    assert lint_yaml(text, "SU001") == []


def test_entries_of_the_list_are_checked_too() -> None:
    """An unknown code in `ignore:` is found at its entry."""
    text = operation_yaml(HEAD, service='ignore:\n  - {rule: RX001, reason: "r"}')
    (found,) = lint_yaml(text, "SU001")
    assert found.span.line == 5
    assert found.fix is None


def test_fix_removes_the_code_alone() -> None:
    """Of two codes the unknown one goes; a comment with one code goes whole."""
    two = operation_yaml(f"{HEAD}  # policyctl: ignore[RT001, RX001] because")
    (found,) = lint_yaml(two, "SU001")
    assert found.fix is not None
    (edit,) = found.fix.edits
    assert two[edit.span.start : edit.span.end] == "RT001, RX001"
    assert edit.text == "RT001"
    one = operation_yaml(f"{HEAD}  # policyctl: ignore[RX001] because")
    (whole,) = lint_yaml(one, "SU001")
    assert whole.fix is not None
    (cut,) = whole.fix.edits
    assert one[: cut.span.start] + one[cut.span.end :] == operation_yaml(HEAD)
