"""Selecting, overriding, crashing, ordering: what the engine does around rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.context import Context, Site
from policyctl.lint.engine import INTERNAL_ERROR, LintSettings, lint, prepare
from policyctl.lint.rule import Missing, Outcomes, Rule
from policyctl.lint.setting import SettingError
from policyctl.lint.testing import lint_yaml, load_yaml, operation_yaml, run_yaml

TEXT = operation_yaml(
    "transport: http\nidempotent: true\n"
    "retry: {max_attempts: 7, backoff: {initial: 0s}}"
)


def codes(text: str, *select: str, ignore: tuple[str, ...] = ()) -> list[str]:
    """Codes found, without those about missing facts."""
    found = run_yaml(text, *select, ignore=ignore).diagnostics
    return [d.code for d in found if d.code != "HY003"]


def test_selection_by_code_name_and_beginning() -> None:
    """Codes, names and beginnings of codes choose rules; ignore wins over select."""
    assert codes(TEXT, "RT001") == ["RT001"]
    assert codes(TEXT, "too-many-attempts") == ["RT001"]
    assert codes(TEXT, "RT00") == ["RT001", "RT003"]
    assert codes(TEXT, "RT", ignore=("RT003",)) == ["RT001"]
    assert codes(TEXT, "RT001", ignore=("RT",)) == []
    assert "TB001" in codes(TEXT)


def test_severity_can_be_overridden_by_code_and_name() -> None:
    """The configuration's severity replaces whatever the rule decides."""
    for key in ("RT001", "too-many-attempts"):
        result = run_yaml(TEXT, "RT001", severity={key: Severity.INFO})
        assert [d.severity for d in result.diagnostics] == [Severity.INFO]


class Broken(Rule):
    """A rule with a bug."""

    code: ClassVar[str] = "XX001"
    name: ClassVar[str] = "broken"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        yield self.finding(site.place, "", "seen before the bug", help="none")
        raise ZeroDivisionError(f"at {site.policy.id}")


def test_a_crash_is_one_finding_and_no_traceback() -> None:
    """A rule that raises is reported with the error's place; the others go on."""
    result = run_yaml(TEXT, "RT001", "XX001", extra=(Broken,))
    assert result.failed
    assert sorted(d.code for d in result.diagnostics) == [
        INTERNAL_ERROR,
        "RT001",
        "XX001",
    ]
    (crash,) = (d for d in result.diagnostics if d.code == INTERNAL_ERROR)
    assert crash.span.path.endswith("tests/lint/test_engine.py") or not crash.span.path
    assert crash.message.startswith(
        "rule XX001 failed and was stopped: ZeroDivisionError at test_engine.py:"
    )
    assert crash.message.endswith(": at payment_api.charge")
    assert crash.help is not None
    assert 'ignore = ["XX001"]' in crash.help
    with pytest.raises(RuntimeError, match="XX001"):
        lint_yaml(TEXT, "XX001", extra=(Broken,))


def test_ignored_rules_do_not_run() -> None:
    """A rule that would crash does no harm once it is ignored."""
    result = run_yaml(TEXT, extra=(Broken,), ignore=("XX001",))
    assert not result.failed
    assert "XX001" not in result.coverage.ran


def test_only_reported_services_are_reported() -> None:
    """Services that are context are seen and not reported, nor their missing facts."""
    context = {"other.yaml": TEXT.replace("payment_api", "other_api")}
    result = run_yaml(TEXT, "RT", files=context)
    assert {d.span.path for d in result.diagnostics} == {"policy.yaml"}
    assert all(skip.fact.startswith("payment_api.") for skip in result.coverage.skipped)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (
            {"RT001": {"max_atempts": 3}},
            "RT001 has no setting 'max_atempts'; did you mean max_attempts?",
        ),
        ({"RT003": {"x": 3}}, "RT003 has no setting 'x', and no settings at all"),
        (
            {"RT001": {"max_attempts": "many"}},
            "RT001.max_attempts: 'many' is not a number",
        ),
        ({"RT001": {"max_attempts": True}}, "RT001.max_attempts: True is not a number"),
        ({"RT001": {"loop_backoff": 10}}, "RT001.loop_backoff: 10 is not a duration"),
        ({"RT001": {"loop_backoff": "10"}}, "RT001.loop_backoff: `10` has no unit"),
    ],
)
def test_bad_thresholds_are_refused(
    thresholds: dict[str, dict[str, object]], message: str
) -> None:
    """A threshold that does not exist or fit is one clear error."""
    with pytest.raises(SettingError) as caught:
        prepare(LintSettings(thresholds=thresholds))
    assert str(caught.value).startswith(message)


class Asking(Rule):
    """A rule that always lacks a fact."""

    code: ClassVar[str] = "XX002"
    name: ClassVar[str] = "asking"
    severity: ClassVar[Severity] = Severity.INFO

    def check_project(self, context: Context) -> Iterable[Missing]:
        yield Missing("payment_api.facts.capacity")
        yield Missing("payment_api.facts.capacity")


def test_coverage_lists_each_fact_once() -> None:
    """Facts come with the rules that wait for them, and HY003 tells the user."""
    result = run_yaml(TEXT, "XX002", "HY003", extra=(Asking,))
    assert result.coverage.unlocks() == {"payment_api.facts.capacity": ("XX002",)}
    assert result.coverage.by_service() == {
        "payment_api": {"payment_api.facts.capacity": ("XX002",)}
    }
    assert [d.help for d in result.diagnostics] == ["add facts.capacity (XX002)"]


def test_the_order_is_that_of_the_file_and_always_the_same() -> None:
    """Findings come by place, then code; two runs give equal results."""
    project = load_yaml(TEXT)
    first, second = lint(project), lint(project)
    assert first == second
    keys = [d.sort_key for d in first.diagnostics]
    assert keys == sorted(keys)


def test_a_thousand_operations_are_linear() -> None:
    """An empty project is fine, and one service with many operations too."""
    operations = "".join(f"  op{i}: {{transport: http}}\n" for i in range(300))
    text = f"version: 1\nservice: wide\nowner: team\noperations:\n{operations}"
    assert len(lint_yaml(text, "TB001")) == 300
