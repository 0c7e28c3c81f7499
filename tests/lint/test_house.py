"""House rules: found, checked, and reported in one line where they are wrong."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from policyctl.lint import house
from policyctl.lint.house import HouseRuleError, load
from policyctl.lint.testing import lint_yaml, operation_yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "house_rules"
RULE = (EXAMPLE / "rules" / "ac002_budget_over_page_limit.py").read_text("utf-8")


def folder(tmp_path: Path, **files: str) -> Path:
    """A folder of house rules with these files."""
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    return tmp_path


def error(tmp_path: Path, text: str, name: str = "rule") -> HouseRuleError:
    """The error that a rule file gives."""
    with pytest.raises(HouseRuleError) as caught:
        load(folder(tmp_path, **{name: text}), "rules")
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_rules_of_a_folder_run_like_ours() -> None:
    """They are found by code and give findings with policy paths and fixes."""
    rules = load(EXAMPLE / "rules")
    assert [rule.code for rule in rules] == ["AC001", "AC002"]
    text = operation_yaml("transport: http\nbudget: 20s")
    (found,) = lint_yaml(text, "AC", extra=rules)
    assert found.message == "budget 20s > 8s of a page"
    assert found.policy_path == "payment_api.operations.charge.budget.total"
    assert found.fix is not None


def test_they_can_be_suppressed() -> None:
    """A comment hides a finding of a house rule."""
    rules = load(EXAMPLE / "rules")
    text = operation_yaml(
        "transport: http\nbudget: 20s  # policyctl: ignore[AC002] a report"
    )
    assert lint_yaml(text, "AC002", "SU", extra=rules) == []


def test_helpers_are_shared_by_relative_import(tmp_path: Path) -> None:
    """Files that begin with an underscore hold no rules and can be imported."""
    text = RULE.replace("8.0", "_limits.PAGE").replace(
        "from typing", "from . import _limits\nfrom typing", 1
    )
    (rule,) = load(folder(tmp_path, _limits="PAGE = 3.0\n", rule=text))
    assert rule({}).limit == 3.0  # type: ignore[attr-defined]


def test_a_changed_file_is_loaded_anew(tmp_path: Path) -> None:
    """A second load in one process sees the file as it is now."""
    load(folder(tmp_path, rule=RULE))
    (rule,) = load(folder(tmp_path, rule=RULE.replace("AC002", "AC009")))
    assert rule.code == "AC009"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("AC002", "ac2"), "code = 'ac2' is not two capital letters and three digits"),
        (("AC002", "RT900"), "RT900 is in the family RT of policyctl"),
        (("AC002", "VA900"), "VA900 is in the family VA of policyctl"),
        (("budget-over-page-limit", "Budget"), "name = 'Budget' is not in kebab-case"),
        (
            ("budget-over-page-limit", "no-jitter"),
            "no-jitter is taken by the built-in RT004",
        ),
        (
            ("Severity.ERROR", "'error'"),
            "severity is not one of Severity.ERROR, WARNING",
        ),
        (
            ("    Why:", "    Reason:"),
            "its docstring is incomplete: AC002: sections are",
        ),
        (("class BudgetOverPageLimit(Rule)", "class Other"), "there is no rule in it"),
    ],
)
def test_what_a_rule_lacks_is_said_in_one_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    """The error names the file and what has to be changed."""
    found = error(tmp_path, RULE.replace(*change))
    assert str(found).startswith("rules/rule.py: ")
    assert message in str(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x = 1\nraise RuntimeError('no\\nluck')\n",
            "rules/rule.py:2: RuntimeError: no luck",
        ),
        (
            "import no_such_module\n",
            "rules/rule.py:1: ModuleNotFoundError: No module named",
        ),
        ("def f(:\n", "rules/rule.py:1: SyntaxError: invalid syntax"),
        ("import sys\n\nsys.exit(3)\n", "rules/rule.py:3: SystemExit: 3"),
        ("1 / 0\n", "rules/rule.py:1: ZeroDivisionError: division by zero"),
        ("", "rules/rule.py: there is no rule in it"),
    ],
)
def test_files_that_cannot_be_imported(tmp_path: Path, text: str, message: str) -> None:
    """Whatever the file does, the error is one line with its place."""
    assert message in str(error(tmp_path, text))


def test_a_file_name_that_is_no_module(tmp_path: Path) -> None:
    """A dash in the file's name is explained."""
    found = error(tmp_path, RULE, "my-rule")
    assert "'my-rule' is not the name of a Python module" in str(found)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The error says which folder, and where it is named."""
    with pytest.raises(
        HouseRuleError, match="house rules acme does not exist"
    ) as caught:
        load(tmp_path / "acme", "acme")
    assert "correct rules = " in str(caught.value.help)


def test_two_files_with_one_code(tmp_path: Path) -> None:
    """Neither wins: the second is refused, and the first is named."""
    with pytest.raises(HouseRuleError, match="AC002 is taken by rules/one"):
        load(
            folder(tmp_path, one=RULE, two=RULE.replace("budget-over", "b-over")),
            "rules",
        )


def points(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Pretend that an installed package has one entry point."""
    point = EntryPoint("acme", value, house.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])


def test_packages_offer_rules_by_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module or a class may be named."""
    (tmp_path / "acme_rules_for_test.py").write_text(RULE, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for value in ("acme_rules_for_test", "acme_rules_for_test:BudgetOverPageLimit"):
        points(monkeypatch, value)
        assert [rule.code for rule in load(None)] == ["AC002"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "no_such_package_here",
            "entry point acme = no_such_package_here: ModuleNotFoundError",
        ),
        ("json", "it is neither a rule nor a module with rules"),
        ("json:dumps", "it is neither a rule nor a module with rules"),
    ],
)
def test_entry_points_that_lead_nowhere(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    """The error names the entry point."""
    points(monkeypatch, value)
    with pytest.raises(HouseRuleError, match=message):
        load(None)
