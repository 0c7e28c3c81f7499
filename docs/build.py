"""Writes the pages that come from the code, which are not kept in the repository.

python -m docs.build FOLDER

- ``rules.md``: every lint rule, from the docstrings of their files;
- ``policyctl.schema.json``: the JSON Schema of policy files;
- ``report.schema.json``: the JSON Schema of ``validate --format json``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import policyctl.reports
from policyctl.lint.explain import RuleDocs, docs
from policyctl.lint.registry import all_rules
from policyctl.model.schema import policy_schema


def rule_page(rule: RuleDocs) -> Iterator[str]:
    """The lines of a rule's section."""
    yield f"## {rule.code} {rule.name}"
    yield ""
    yield f"{rule.summary}. Severity: {rule.severity.label}."
    for title, text in (("When it fires", rule.what), ("Why", rule.why)):
        yield from ("", f"**{title}.** {text}")
    for title, example in (("Bad", rule.bad), ("Good", rule.good)):
        yield from ("", f"{title}:", "", "```yaml", example.rstrip(), "```")
    for title, text in (("Fix", rule.fix), ("False positives", rule.false_positives)):
        yield from ("", f"**{title}.** {text}")
    if rule.facts:
        yield from (
            "",
            "Facts that it needs: " + ", ".join(f"`{f}`" for f in rule.facts),
        )
    if rule.settings:
        yield from ("", "| threshold | default | meaning |", "|---|---|---|")
        for item in rule.settings:
            yield f"| `{item.name}` | `{item.default}` | {item.description} |"
    yield from ("", "References:", "")
    yield from (f"- {reference}" for reference in rule.references)


def rules_page() -> str:
    """The page of all rules, with a table to find them by."""
    rules = [docs(rule) for rule in all_rules()]
    lines = [
        "# Lint rules",
        "",
        "| code | severity | name | what |",
        "|---|---|---|---|",
    ]
    for rule in rules:
        anchor = f"{rule.code.lower()}-{rule.name}"
        link = f"[{rule.code}](#{anchor})"
        lines.append(
            f"| {link} | {rule.severity.label} | {rule.name} | {rule.summary} |"
        )
    for rule in rules:
        lines += ["", *rule_page(rule)]
    return "\n".join(lines) + "\n"


def build(folder: Path) -> None:
    """Write all pages to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rules.md").write_text(rules_page(), "utf-8")
    schema = json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"
    (folder / "policyctl.schema.json").write_text(schema, "utf-8")
    reports = Path(policyctl.reports.__path__[0])
    shutil.copyfile(reports / "schema.json", folder / "report.schema.json")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
