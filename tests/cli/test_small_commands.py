"""``rules``, ``schema`` and ``config show``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from policyctl.lint.registry import all_rules

Run = Callable[..., Any]
Write = Callable[[str, str], Path]


def test_rules_lists_every_rule_once(run_cli: Run) -> None:
    """One line for each rule, in the order of codes."""
    lines = run_cli("rules").out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.code for rule in all_rules()]
    assert [line.split()[2] for line in lines] == [rule.name for rule in all_rules()]


def test_rules_as_json(run_cli: Run) -> None:
    """The shape has a version and says all that the pages say."""
    document = json.loads(run_cli("rules", "--format", "json").out)
    assert list(document) == ["version", "rules"]
    assert document["version"] == 1
    assert {rule["severity"] for rule in document["rules"]} <= {
        "error",
        "warning",
        "info",
    }
    assert all(rule["summary"] and rule["bad"] for rule in document["rules"])


def test_the_schema_accepts_a_policy(run_cli: Run, texts: Any) -> None:
    """What is printed is a JSON Schema that knows our policies from others."""
    import yaml

    schema = json.loads(run_cli("schema").out)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(yaml.safe_load(texts.clean))
    assert not validator.is_valid(yaml.safe_load(texts.clean + "colour: red\n"))


def test_config_show_is_toml_with_origins(run_cli: Run, write: Write) -> None:
    """Every setting is printed as TOML with its file and line, or as a default."""
    write("policyctl.toml", 'fail-on = "warning"\noutput = "lib/guards"\n')
    out = run_cli("config", "show").out
    shown = tomllib.loads(out)
    assert shown["fail-on"] == "warning"
    assert shown["package"] == "guards"
    assert shown["policies"] == ["policies"]
    lines = {line.split(" = ")[0]: line for line in out.splitlines()}
    assert lines["fail-on"].endswith("# policyctl.toml:1")
    assert lines["package"].endswith("# name of the output folder, policyctl.toml:2")
    assert lines["policies"].endswith("# default")


def test_config_show_as_json(run_cli: Run, write: Write) -> None:
    """The same for programs, with null for what is not set."""
    write("policyctl.toml", '[severity]\nRT001 = "info"\n')
    document = json.loads(run_cli("config", "show", "--format", "json").out)
    assert (document["version"], document["file"]) == (1, "policyctl.toml")
    settings = document["settings"]
    assert settings["severity"] == {
        "value": {"RT001": "info"},
        "origin": "policyctl.toml:1",
    }
    assert settings["environment"] == {"value": None, "origin": "default"}


def test_a_broken_configuration_is_shown_with_its_line(
    run_cli: Run, write: Write
) -> None:
    """Every command that reads it ends with exit 2 and the same excerpt."""
    write("policyctl.toml", "\npolices = 3\n")
    for command in (["config", "show"], ["generate"], ["explain", "shop_api"]):
        outcome = run_cli(*command)
        assert (outcome.code, outcome.out) == (2, "")
        assert "--> policyctl.toml:2:1\n" in outcome.err
        assert "= help: did you mean policies?" in outcome.err
    assert run_cli("validate").code == 2


def test_config_without_a_command_prints_help(run_cli: Run) -> None:
    """A group alone is a usage error that shows what there is."""
    outcome = run_cli("config")
    assert outcome.code == 2
    assert "show" in outcome.out.partition("Commands:")[2]


@pytest.mark.parametrize("command", ["rules", "schema"])
def test_these_commands_read_no_policies(run_cli: Run, command: str) -> None:
    """Without any policy or configuration they work."""
    assert run_cli(command).code == 0


def test_reports_and_baselines_have_schemas(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """What validate and baseline write is valid by the schemas that are printed."""
    write("policies/a.yaml", texts.warning)
    for subject, document in (
        ("report", run_cli("validate", "--format", "json").out),
        ("baseline", recorded(run_cli, tmp_path)),
    ):
        schema = json.loads(run_cli("schema", "--of", subject).out)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads(document), schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"version": 2}, schema)


def recorded(run_cli: Run, tmp_path: Path) -> str:
    """The text of a new baseline with a finding in it."""
    path = tmp_path / "known.json"
    run_cli("baseline", "update", "--baseline", str(path), "--allow-growth")
    text = path.read_text("utf-8")
    assert "RT001" in text
    return text
