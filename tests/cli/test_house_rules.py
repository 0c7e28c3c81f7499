"""House rules on the command line, and the example of the documentation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "house_rules"
Run = Callable[..., Any]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example project."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_example_is_clean_and_its_rules_are_known(
    run_cli: Run, example: Path
) -> None:
    """validate runs them, rules lists them, explain prints their pages."""
    assert run_cli("validate", "--select", "AC").out.startswith("clean")
    assert "AC002  error" in run_cli("rules").out
    assert "The shop's gateway" in run_cli("explain", "AC002").out
    codes = [
        r["code"] for r in json.loads(run_cli("rules", "--format", "json").out)["rules"]
    ]
    assert codes[-2:] == ["AC001", "AC002"]


def test_findings_fixes_and_thresholds(run_cli: Run, example: Path) -> None:
    """A house rule fails the run, obeys its threshold, and mends the file."""
    path = example / "policies" / "quote_api.yaml"
    path.write_text(
        path.read_text("utf-8").replace("budget: 8s", "budget: 9s"), "utf-8"
    )
    done = run_cli("validate", "--select", "AC002")
    assert done.code == 1
    assert "error[AC002] budget-over-page-limit: budget 9s > 8s of a page" in done.out
    config = example / "policyctl.toml"
    config.write_text(config.read_text("utf-8").replace("8s", "9s"), "utf-8")
    assert run_cli("validate", "--select", "AC002").code == 0
    config.write_text('rules = "rules"\n', "utf-8")
    assert run_cli("validate", "--fix", "--unsafe-fixes", "--select", "AC002").code == 0
    assert "budget: 8s" in path.read_text("utf-8")


@pytest.mark.parametrize("format", ["json", "sarif"])
def test_what_rules_print_is_no_part_of_a_report(
    run_cli: Run, example: Path, format: str
) -> None:
    """A print that was left in a rule, or in its file, goes to standard error."""
    rule = next((example / "rules").glob("ac002_*.py"))
    text = rule.read_text("utf-8").replace(
        "    def check_operation(",
        "    def check_operation(self, site, context):\n"
        '        print("looking")\n        yield from self._check(site, context)\n\n'
        "    def _check(",
    )
    assert "looking" in text
    rule.write_text(text + '\nprint("loaded")\n', "utf-8")
    done = run_cli("validate", "--format", format)
    assert json.loads(done.out)["version"]
    assert "loaded" in done.err
    assert "looking" in done.err


def test_a_rule_file_that_is_wrong_is_one_finding(run_cli: Run, example: Path) -> None:
    """It is shown at the key of the configuration, and the exit code is 2."""
    (example / "rules" / "ac003_new.py").write_text("1 / 0\n", "utf-8")
    for command in (("validate",), ("rules",), ("explain", "AC001")):
        done = run_cli(*command)
        assert done.code == 2
        assert "Traceback" not in done.out + done.err
        assert "rules/ac003_new.py:1: ZeroDivisionError" in done.out + done.err
        assert "policyctl.toml:1" in done.out + done.err


def test_a_rule_that_crashes_is_stopped(run_cli: Run, example: Path) -> None:
    """The other rules go on, and the run is not to be relied on."""
    path = example / "rules" / "ac001_owner_has_a_channel.py"
    text = path.read_text("utf-8").replace('service.owner or ""', "1 / 0")
    path.write_text(text, "utf-8")
    done = run_cli("validate")
    assert done.code == 2
    assert "rule AC001 failed and was stopped: ZeroDivisionError at ac001_" in done.out
    assert "Traceback" not in done.out + done.err


def test_a_change_of_a_rule_is_noticed(run_cli: Run, example: Path) -> None:
    """The cache depends on the files of the folder."""
    assert run_cli("validate", "--select", "AC").code == 0
    path = example / "rules" / "ac002_budget_over_page_limit.py"
    text = path.read_text("utf-8").replace("<= self.limit", "< self.limit")
    path.write_text(text, "utf-8")
    assert run_cli("validate", "--select", "AC").code == 1


def test_the_page_shows_the_files_of_the_example() -> None:
    """docs/house-rules.md quotes the rule and its tests as they are."""
    page = (ROOT / "docs" / "house-rules.md").read_text("utf-8")
    for name in ("rules/ac002_budget_over_page_limit.py", "tests/test_rules.py"):
        assert f"```python\n{(EXAMPLE / name).read_text('utf-8')}```\n" in page


def test_the_tests_of_the_example_pass(run_process: Callable[..., Any]) -> None:
    """Its own tests run with the public helpers alone."""
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(EXAMPLE), str(EXAMPLE)],
        cwd=EXAMPLE, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
