"""What a suppression covers, and what it does not."""

from __future__ import annotations

import pytest

from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules
from policyctl.lint.rule import Rule
from policyctl.lint.suppressions import collect
from policyctl.lint.testing import lint_yaml, load_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"
MARK = "# policyctl: ignore[RT001] because"
HIDEABLE = [
    pytest.param(rule, id=rule.code)
    for rule in all_rules()
    if not rule.code.startswith("SU")
]


@pytest.mark.parametrize("rule", HIDEABLE)
def test_every_rule_can_be_suppressed_where_it_points(rule: type[Rule]) -> None:
    """A comment on the line of a finding hides it and gives its reason."""
    text = docs(rule).bad
    (found,) = [d for d in lint_yaml(text) if d.code == rule.code]
    lines = text.splitlines()
    lines[found.span.line - 1] += f"  # policyctl: ignore[{rule.code}] we know"
    result = run_yaml("\n".join(lines) + "\n")
    hidden = [d for d in result.diagnostics if d.code == rule.code]
    assert [d.suppressed.reason for d in hidden if d.suppressed] == ["we know"]
    assert not [d for d in result.diagnostics if d.code == "SU004"]


@pytest.mark.parametrize(
    "settings",
    [
        f"retry: {{max_attempts: 4}}  {MARK}",
        f"{MARK}\nretry: {{max_attempts: 4}}",
        f"retry:\n  max_attempts: 4  {MARK}",
        f"retry:\n  {MARK}\n  max_attempts: 4",
        f"retry:  {MARK}\n  max_attempts: 4",
        f"retry: {{\n  max_attempts: 4,\n}}  {MARK}",
    ],
)
def test_comments_cover_their_node(settings: str) -> None:
    """A comment covers the whole value of the key that it stands at."""
    assert lint_yaml(operation_yaml(HEAD + settings), "RT001") == []


@pytest.mark.parametrize(
    "settings",
    [
        f"{MARK}\n\nretry: {{max_attempts: 4}}",
        f"budget: 2s  {MARK}\nretry: {{max_attempts: 4}}",
        f"retry:\n  backoff: {{initial: 1s}}  {MARK}\n  max_attempts: 4",
        f"retry: {{max_attempts: 4}}\n{MARK}",
    ],
)
def test_comments_cover_nothing_else(settings: str) -> None:
    """A neighbour's comment hides nothing."""
    assert len(lint_yaml(operation_yaml(HEAD + settings), "RT001")) == 1


def test_comment_at_the_operation_covers_inherited_values() -> None:
    """The finding is shown under defaults, but it is about this operation."""
    text = (
        "version: 1\nservice: payment_api\ndefaults:\n  transport: http\n"
        "  retry: {max_attempts: 4, retry_on: [not_sent]}\noperations:\n"
        f"  charge: {{idempotent: true}}  {MARK}\n  refund: {{idempotent: true}}\n"
    )
    (found,) = lint_yaml(text, "RT001")
    assert found.policy_path == "payment_api.operations.refund.retry.max_attempts"


def test_comment_at_the_inherited_value_covers_every_operation() -> None:
    """Under defaults, one comment answers for all that inherit."""
    text = (
        "version: 1\nservice: payment_api\ndefaults:\n  transport: http\n"
        f"  retry: {{max_attempts: 4, retry_on: [not_sent]}}  {MARK}\noperations:\n"
        "  charge: {idempotent: true}\n  refund: {idempotent: true}\n"
    )
    assert lint_yaml(text, "RT001", "SU") == []


def test_comment_in_a_preset_covers_what_comes_from_there() -> None:
    """A preset may answer for its own numbers."""
    preset = (
        "version: 1\npreset: many\ndefaults:\n"
        f"  retry: {{max_attempts: 4}}  {MARK}\n"
    )
    text = operation_yaml(HEAD, service="extends: [many]")
    assert lint_yaml(text, "RT001", "SU", files={"many.yaml": preset}) == []


@pytest.mark.parametrize(
    ("at", "count"),
    [
        (None, 0),
        ("operations", 0),
        ("operations.charge", 0),
        ("operations.charge.retry", 0),
        ("operations.charge.retry.max_attempts", 0),
        ("operations.char", 1),
        ("operations.charge.retry.backoff", 1),
    ],
)
def test_list_entries_cover_what_is_at_or_below(at: str | None, count: int) -> None:
    """`at` is a dotted path; without it the entry covers the document."""
    place = "" if at is None else f"at: {at}, "
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: 4}}",
        service=f"ignore: [{{rule: RT001, {place}reason: because}}]",
    )
    assert len(lint_yaml(text, "RT001")) == count


def test_override_can_be_suppressed_by_path_and_by_comment() -> None:
    """The entry of a calls list is a node like any other."""
    text = operation_yaml(HEAD) + (
        "---\nversion: 1\nservice: shop\nowner: shop-team\n%scalls:\n"
        "  - to: payment_api.charge\n    override:\n"
        "      retry: {max_attempts: 9, retry_on: [timeout]}  %s\n"
    )
    entry = "ignore: [{rule: RT001, at: %s, reason: because}]\n"
    assert len(lint_yaml(text % ("", ""), "RT001")) == 1
    assert lint_yaml(text % ("", MARK), "RT001") == []
    assert lint_yaml(text % (entry % "calls", ""), "RT001") == []
    by_name = entry % '"calls[payment_api.charge]"'
    assert lint_yaml(text % (by_name, ""), "RT001") == []


def test_names_work_as_codes() -> None:
    """A rule may be named by its kebab-case name."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: 4}}  # policyctl: ignore[too-many-attempts] ok"
    )
    assert lint_yaml(text, "RT001", "SU") == []


def test_windows_line_ends_and_non_ascii_text() -> None:
    """Comments end before a carriage return, and reasons keep their letters."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: 4}}  # policyctl: ignore[RT001] später — geprüft"
    ).replace("\n", "\r\n")
    (found,) = run_yaml(text, "RT001", "SU").diagnostics
    assert found.suppressed is not None
    assert found.suppressed.reason == "später — geprüft"


def test_a_hash_inside_a_string_is_no_comment() -> None:
    """A description may speak of suppressions."""
    text = operation_yaml(f'{HEAD}description: "see {MARK}"')
    assert collect(load_yaml(text)) == ()


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# policyctl: ignore[RT001] why", []),
        ("# policyctl ignore[RT001] why", []),
        ("#policyctl:ignore [RT001] why", []),
        ("# Policyctl: ignore[RT001] why", []),
        ("# POLICYCTL: IGNORE[RT001] why", ["RT001", "SU005"]),
        ("# policyctl: disable[RT001]", ["RT001", "SU005"]),
        ("# policyctl disable RT001", ["RT001", "SU005"]),
        ("# policyctl reads this file, see its docs", ["RT001"]),
        ("# see policyctl: ignore[RT001]", ["RT001"]),
        ("# policyctls: ignore[RT001]", ["RT001"]),
    ],
)
def test_what_is_meant_as_a_suppression_is_one_or_is_reported(
    comment: str, codes: list[str]
) -> None:
    """Near misses are findings, and prose that names the tool is left alone."""
    text = operation_yaml(f"{HEAD}retry: {{max_attempts: 4}}  {comment}")
    assert [d.code for d in lint_yaml(text, "RT001", "SU")] == codes
