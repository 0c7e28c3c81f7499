"""Tests of the house rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.lint.explain import docs
from policyctl.lint.house import load
from policyctl.lint.rule import Rule
from policyctl.lint.testing import lint_yaml, operation_yaml

RULES = load(Path(__file__).parents[1] / "rules")
BY_CODE = {rule.code: rule for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_examples_hold(rule: type[Rule]) -> None:
    """The bad example is reported once, the good one not at all."""
    page = docs(rule)
    assert [d.code for d in lint_yaml(page.bad, rule.code, extra=RULES)] == [rule.code]
    assert lint_yaml(page.good, rule.code, extra=RULES) == []


@pytest.mark.parametrize(("budget", "found"), [("7s", 0), ("8s", 0), ("8001ms", 1)])
def test_the_limit_itself_is_allowed(budget: str, found: int) -> None:
    """Eight seconds pass, a millisecond more does not."""
    text = operation_yaml(f"transport: http\nbudget: {budget}")
    assert len(lint_yaml(text, "AC002", extra=RULES)) == found


def test_the_limit_can_be_configured() -> None:
    """The threshold of the configuration replaces the default."""
    text = operation_yaml("transport: http\nbudget: 9s")
    thresholds = {"AC002": {"limit": "10s"}}
    assert lint_yaml(text, "AC002", extra=RULES, thresholds=thresholds) == []
