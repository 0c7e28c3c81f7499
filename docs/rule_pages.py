"""Writes docs/rules: a page for each lint rule and an index, from their docstrings.

python -m docs.rule_pages
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from policyctl.lint.explain import RuleDocs, docs
from policyctl.lint.registry import all_rules
from policyctl.lint.testing import lint_yaml

FOLDER = Path(__file__).with_name("rules")

FAMILIES = {
    "BH": "Bulkheads and pools",
    "CB": "Circuit breakers",
    "EN": "Environments",
    "FB": "Fallbacks and caches",
    "GR": "Calls between services",
    "HY": "Hygiene",
    "ID": "Idempotency",
    "QU": "Queues and admission",
    "RL": "Rate limits",
    "RT": "Retries",
    "SU": "Suppressions",
    "TB": "Time budgets",
    "TL": "Telemetry",
}
_HEAD = """\
# Lint rules

`policyctl validate` runs these rules on all policies together; `policyctl explain CODE` prints
the same pages in the terminal. How to leave rules out, change their severity and thresholds, and
excuse single findings is said in [commands](../commands.md) and [adopting](../adopting.md); rules of
your own are described in [house rules](../house-rules.md).

A rule whose facts are missing stays silent, and HY003 lists the facts that would let it look.
"Fix" says what `--fix` does with the documented example: a safe fix is applied, an unsafe one
needs `--unsafe-fixes` too; the others are left to people.

Codes that are not listed here are not lint: `SY` is YAML syntax, `VA` validation (see
[validation](../validation.md)), `CF` configuration and files, `GN` generation, `LN001` a rule that
crashed, `BL001` an entry of the baseline that nothing matches any longer.

These pages are made from `policyctl/lint/rules` by `python -m docs.rule_pages`.
"""

_LEFT_OUT = """\
## Codes without a rule

The catalogue that these rules come from has five codes more. The language cannot say what they
would look for, so that there is nothing to find in a policy:

| code | what it would look for | why there is no rule |
|---|---|---|
| GR007 | errors of rejected or exhausted calls that invite callers to retry | policies do not say which answer a service gives then; GR001 and GR002 find the retries themselves |
| HY001 | `retries` beside `max_attempts`, counted differently | there is only `max_attempts`, the first attempt included; any other key is refused |
| ID003 | a key that is made anew for each attempt | all attempts of a call have one key; where else keys are made no policy says |
| QU004 | a first-in-first-out queue whose entries do not expire | there is no order of service to choose, and `max_wait` ends every wait |
| TB007 | a timeout that starts again with each byte | `attempt_timeout.total` is one time for the whole attempt; TB001 asks for it |

For the same reason RT003 knows no exception for retries at another host, and BH005 compares no
thresholds of load shedding.
"""


def fix_of(rule: RuleDocs) -> str:
    """``safe``, ``unsafe`` or nothing: the fix of the bad example's finding."""
    for finding in lint_yaml(rule.bad):
        if finding.code == rule.code and finding.fix is not None:
            return "safe" if finding.fix.safe else "unsafe"
    return ""


def page(rule: RuleDocs, fix: str) -> str:
    """The page of one rule."""
    return "\n".join(_lines(rule, fix)) + "\n"


def _lines(rule: RuleDocs, fix: str) -> Iterator[str]:
    yield f"# {rule.code} {rule.name}"
    yield ""
    yield f"{rule.summary}."
    yield ""
    yield f"| severity | {rule.severity.label} |"
    yield "|---|---|"
    yield f"| automatic fix | {fix or 'none'} |"
    facts = ", ".join(f"`{fact}`" for fact in rule.facts)
    yield f"| facts | {facts or 'none needed'} |"
    for title, text in (("When it fires", rule.what), ("Why", rule.why)):
        yield from ("", f"## {title}", "", text)
    for title, example in (("Bad", rule.bad), ("Good", rule.good)):
        yield from ("", f"## {title}", "", "```yaml", example.rstrip(), "```")
    for title, text in (("Fix", rule.fix), ("False positives", rule.false_positives)):
        yield from ("", f"## {title}", "", text)
    if rule.settings:
        yield from (
            "",
            "## Thresholds",
            "",
            f"Set under `[thresholds.{rule.code}]`.",
            "",
        )
        yield from ("| threshold | default | meaning |", "|---|---|---|")
        for item in rule.settings:
            yield f"| `{item.name}` | `{item.default}` | {item.description} |"
    yield from ("", "## References", "")
    yield from (f"- {reference}" for reference in rule.references)


def index(rules: list[tuple[RuleDocs, str]]) -> str:
    """The page that lists all rules by family."""
    lines = [_HEAD.rstrip("\n")]
    for family, members in groupby(rules, key=lambda item: item[0].code[:2]):
        lines += ["", f"## {FAMILIES.get(family, family)}", ""]
        lines += [
            "| code | severity | fix | name | what it finds |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| [{rule.code}]({rule.code}.md) | {rule.severity.label} | {fix} "
            f"| {rule.name} | {rule.summary} |"
            for rule, fix in members
        ]
    return "\n".join([*lines, "", _LEFT_OUT])


def pages() -> dict[str, str]:
    """The text of every page, by file name."""
    rules = [(rule, fix_of(rule)) for rule in map(docs, all_rules())]
    found = {f"{rule.code}.md": page(rule, fix) for rule, fix in rules}
    return {**found, "README.md": index(rules)}


def write(folder: Path = FOLDER) -> None:
    """Write all pages, and remove those of rules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
