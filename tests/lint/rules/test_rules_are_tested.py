"""Each rule's own tests cover its boundary, its missing facts and its thresholds.

The habit, for every file ``test_<code>_<name>.py`` beside this one:

* ``@pytest.mark.boundary`` marks the tests that hold the last quiet value and the first
  reported one of a threshold, worked out by hand in the docstring or a comment. A rule
  with several thresholds has one for each.
* ``@pytest.mark.missing_facts`` marks the tests that take a fact or an optional setting
  away: the rule is silent, and the coverage of the run names what it lacked.
* Each threshold that the configuration can move is moved by a test, by its name.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest

from policyctl.lint.registry import all_rules
from policyctl.lint.rule import Rule

HERE = Path(__file__).parent
RULES = [rule for rule in all_rules() if not rule.code.startswith("SU")]
"""All rules but those about suppressions, which look at comments alone."""

NO_BOUNDARY: dict[str, str] = {
    "CB010": "compares lists of outcomes",
    "CB013": "asks whether a store is Redis",
    "FB004": "compares lists of exceptions",
    "GR006": "asks whether calls lead back to their start",
    "HY003": "asks whether facts, an owner and reasons are there",
    "HY004": "asks whether an overlay switches a protection off",
    "QU001": "asks whether an inbound bulkhead is there and enforces",
    "TB009": "asks who ends an attempt, whatever its length",
}
"""Rules that compare no quantity, by code, with the reason."""

NO_MISSING_FACTS: dict[str, str] = {
    "CB009": "a callee that states no shards is taken as having one",
    "GR002": "a callee that states no layers is taken as having none",
}
"""Rules that list facts but never lack one, by code, with the reason."""


def file_of(rule: type[Rule]) -> Path:
    """The file of a rule's own tests."""
    return HERE / f"test_{rule.code.lower()}_{rule.name.replace('-', '_')}.py"


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file of tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """The functions of a file of tests, by name."""
    return {f.name: f for f in parsed(path).body if isinstance(f, ast.FunctionDef)}


def marked(path: Path, mark: str) -> list[ast.FunctionDef]:
    """The tests of a file that bear ``pytest.mark.<mark>``."""
    text = f"pytest.mark.{mark}"
    return [
        function
        for name, function in functions(path).items()
        if name.startswith("test_")
        and any(ast.unparse(d) == text for d in function.decorator_list)
    ]


def reads_coverage(function: ast.FunctionDef, path: Path) -> bool:
    """Whether a test looks at ``coverage``, itself or in a function of its file."""
    nodes = list(ast.walk(function))
    called = {node.id for node in nodes if isinstance(node, ast.Name)}
    for name, helper in functions(path).items():
        if name in called:
            nodes.extend(ast.walk(helper))
    return any(isinstance(n, ast.Attribute) and n.attr == "coverage" for n in nodes)


def needs_facts(rule: type[Rule]) -> bool:
    """Whether a rule lists facts, or reports one as missing."""
    module = inspect.getmodule(rule)
    assert module is not None
    return bool(rule.facts) or "missing" in vars(module) or "Missing" in vars(module)


def words(path: Path) -> set[str]:
    """All strings of a file of tests, hyphens as underscores."""
    return {
        node.value.replace("-", "_")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def each(rules: list[type[Rule]]) -> pytest.MarkDecorator:
    """A test for each of these rules."""
    ids = [rule.code for rule in rules]
    return pytest.mark.parametrize("rule", rules, ids=ids)


@each(RULES)
def test_the_boundary_is_tested(rule: type[Rule]) -> None:
    """A test stands on the boundary, or the rule has none for a stated reason."""
    found = marked(file_of(rule), "boundary")
    assert bool(found) != (rule.code in NO_BOUNDARY), found


@each([rule for rule in RULES if needs_facts(rule)])
def test_missing_facts_are_tested(rule: type[Rule]) -> None:
    """A test takes the facts away and looks at what the coverage says."""
    path = file_of(rule)
    found = marked(path, "missing_facts")
    assert bool(found) != (rule.code in NO_MISSING_FACTS), found
    assert [test.name for test in found if not reads_coverage(test, path)] == []


@each([rule for rule in RULES if rule.settings()])
def test_every_threshold_is_moved(rule: type[Rule]) -> None:
    """A test sets each threshold of the configuration."""
    assert set(rule.settings()) - words(file_of(rule)) == set()


@pytest.mark.parametrize("table", [NO_BOUNDARY, NO_MISSING_FACTS])
def test_exceptions_are_rules_with_a_reason(table: dict[str, str]) -> None:
    """The tables of exceptions name rules that exist, and say why."""
    assert set(table) <= {rule.code for rule in RULES}
    assert all(reason.strip() for reason in table.values())
