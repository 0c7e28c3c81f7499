"""What holds for every rule: its file, its documentation, and its examples."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules, rule_by_code
from policyctl.lint.rule import Rule
from policyctl.lint.testing import lint_yaml

RULES = [pytest.param(rule, id=rule.code) for rule in all_rules()]


@pytest.mark.parametrize("rule", RULES)
def test_bad_example_gives_the_code_once(rule: type[Rule]) -> None:
    """The bad example of a rule's documentation is reported by it exactly once."""
    found = lint_yaml(docs(rule).bad)
    assert [d.code for d in found].count(rule.code) == 1, found


@pytest.mark.parametrize("rule", RULES)
def test_good_example_gives_nothing_to_act_on(rule: type[Rule]) -> None:
    """The good example gives nothing of the rule, and nothing above info else."""
    found = lint_yaml(docs(rule).good)
    assert rule.code not in {d.code for d in found}
    assert [d for d in found if d.severity > Severity.INFO] == []


@pytest.mark.parametrize("rule", RULES)
def test_file_code_and_name_agree(rule: type[Rule]) -> None:
    """The file is named after code and name, and so is the file of its tests."""
    module = importlib.import_module(rule.__module__)
    assert module.__file__ is not None
    name = f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    assert Path(module.__file__).stem == name
    assert re.fullmatch(r"[A-Z]{2}[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert (Path(__file__).parent / f"test_{name}.py").is_file()


@pytest.mark.parametrize("rule", RULES)
def test_documentation_is_complete(rule: type[Rule]) -> None:
    """Every section of the documentation says something."""
    page = docs(rule)
    texts = (page.what, page.why, page.fix, page.false_positives, *page.references)
    assert all(text.strip() for text in texts)
    assert page.summary
    assert len(page.summary) < 80
    assert page.references


def test_codes_and_names_are_unique() -> None:
    """No two rules share a code or a name, and each is found by both."""
    rules = all_rules()
    assert len({rule.code for rule in rules}) == len(rules)
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in rules:
        assert rule_by_code(rule.code.lower()) is rule
        assert rule_by_code(rule.name) is rule


def test_every_rule_file_holds_one_rule() -> None:
    """Each module in the folder of rules defines exactly one rule."""
    modules = [inspect.getmodule(rule) for rule in all_rules()]
    assert len(set(modules)) == len(modules)
