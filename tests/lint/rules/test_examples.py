"""What holds for every rule: its file, its documentation, and its examples."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
import yaml

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


def moved_to_a_preset(bad: str, prefix: str) -> tuple[str, str] | None:
    """The example with its operations' settings in presets instead, one for each.

    None where the example has no settings to move: the rule looks at something else.
    """
    documents = list(yaml.safe_load_all(bad))
    presets: list[dict[str, object]] = []
    for document in documents:
        for name, settings in (document.get("operations") or {}).items():
            moved = {
                key: settings.pop(key)
                for key in list(settings)
                if key not in ("facts", "calls")
            }
            preset = f"{prefix}_{document['service']}_{name}".replace("_", "-")
            settings["extends"] = [preset]
            presets.append({"version": 1, "preset": preset, "defaults": moved})
    if not presets:
        return None
    texts = (yaml.safe_dump_all(part, sort_keys=False) for part in (documents, presets))
    return tuple(texts)  # type: ignore[return-value]


@pytest.mark.parametrize("rule", RULES)
def test_settings_of_a_preset_are_judged_like_own_ones(rule: type[Rule]) -> None:
    """The same finding comes, in the user's file, with the preset as a related place."""
    bad = docs(rule).bad
    moved = moved_to_a_preset(bad, "p")
    if moved is None or rule.code.startswith("SU"):
        pytest.skip("the example has no operation settings that a preset could hold")
    text, presets = moved
    (own,) = [d for d in lint_yaml(bad) if d.code == rule.code]
    found = lint_yaml(text, files={"presets.yaml": presets})
    (inherited,) = [d for d in found if d.code == rule.code]
    assert inherited.message == own.message
    assert inherited.policy_path == own.policy_path
    assert inherited.severity == own.severity
    assert inherited.span.path == "policy.yaml"
