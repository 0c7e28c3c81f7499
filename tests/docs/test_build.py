"""The pages that are built from the code."""

from __future__ import annotations

import json
from pathlib import Path

from docs.build import build
from policyctl.lint.registry import all_rules


def test_every_rule_has_a_section(tmp_path: Path) -> None:
    """The page has one section and one table row for each rule, linked to each other."""
    build(tmp_path / "made" / "docs")
    page = (tmp_path / "made" / "docs" / "rules.md").read_text("utf-8")
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert headings == [f"{rule.code} {rule.name}" for rule in all_rules()]
    for rule in all_rules():
        assert f"| [{rule.code}](#{rule.code.lower()}-{rule.name}) |" in page


def test_the_schemas_are_json(tmp_path: Path) -> None:
    """Both schemas are written beside the page."""
    build(tmp_path)
    for name in ("policyctl.schema.json", "report.schema.json"):
        assert "$schema" in json.loads((tmp_path / name).read_text("utf-8"))
