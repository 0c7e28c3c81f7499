"""SU004: suppressions that hide nothing."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\n"


@pytest.mark.boundary
@pytest.mark.parametrize(("attempts", "count"), [(3, 1), (4, 0)])
def test_unused(attempts: int, count: int) -> None:
    """A suppression without a finding is reported, with one it is not."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: {attempts}}}  # policyctl: ignore[RT001] because"
    )
    found = lint_yaml(text, "RT001", "SU004")
    assert [d.message for d in found] == [
        "the suppression of RT001 hides nothing"
    ] * count


def test_rules_that_did_not_run_say_nothing() -> None:
    """With --select RT003, suppressions of other rules are not called unused."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: 3}}  # policyctl: ignore[RT001] because"
    )
    assert lint_yaml(text, "RT003", "SU004") == []


def test_rules_that_lacked_facts_say_nothing() -> None:
    """Without callers RT004 cannot look, so its suppression may be needed."""
    settings = (
        f"{HEAD}%sretry: {{backoff: {{jitter: none}}}}"
        "  # policyctl: ignore[RT004] one client"
    )
    assert lint_yaml(operation_yaml(settings % ""), "RT004", "SU004") == []
    known = operation_yaml(settings % "facts: {callers: 1}\n")
    assert [d.code for d in lint_yaml(known, "RT004", "SU004")] == ["SU004"]


def test_one_unused_code_of_two() -> None:
    """Each code counts for itself, and the fix takes only the unused one away."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: 4}}  # policyctl: ignore[RT001, RT003] because"
    )
    (found,) = lint_yaml(text, "RT", "SU004")
    assert found.message == "the suppression of RT003 hides nothing"
    assert found.fix is not None
    assert found.fix.edits[0].text == "RT001"


@pytest.mark.parametrize(
    ("codes", "edits"),
    [
        ("RT001, RT001", {""}),
        ("RT001, RT003, RT001", {"RT003", "RT001"}),
    ],
)
def test_codes_named_twice_go_together(codes: str, edits: set[str]) -> None:
    """No empty brackets are left behind, which no rule would understand."""
    text = operation_yaml(f"{HEAD}budget: 9s  # policyctl: ignore[{codes}] because")
    found = lint_yaml(text, "RT001", "RT003", "SU004")
    assert {d.fix.edits[0].text for d in found if d.fix is not None} == edits


def test_unused_entry_of_the_list() -> None:
    """Entries of `ignore:` are checked at the path they name."""
    entry = "ignore:\n  - {rule: RT001, at: %s, reason: because}"
    settings = f"{HEAD}retry: {{max_attempts: 4}}"
    used = operation_yaml(settings, service=entry % "operations.charge")
    assert lint_yaml(used, "RT001", "SU004") == []
    elsewhere = operation_yaml(settings, service=entry % "operations.charge.budget")
    assert [d.code for d in lint_yaml(elsewhere, "RT001", "SU004")] == [
        "SU004",
        "RT001",
    ]
