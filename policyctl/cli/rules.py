"""``policyctl rules``: every lint rule."""

from __future__ import annotations

from typing import Annotated

import typer

from policyctl.cli._console import console
from policyctl.cli._formats import TextOrJson


def command(
    format: Annotated[TextOrJson, typer.Option(help="How to print it.")] = (
        TextOrJson.text
    ),
) -> None:
    """List the lint rules, house rules last: code, severity, name and what each finds.

    policyctl explain CODE tells all about one of them.
    """
    from policyctl.cli._lint import configured_rules
    from policyctl.lint.explain import docs
    from policyctl.lint.registry import all_rules

    rules = [docs(rule) for rule in (*all_rules(), *configured_rules())]
    if format is TextOrJson.json:
        import json

        from policyctl.cli._rule_text import as_json

        document = {"version": 1, "rules": [as_json(rule) for rule in rules]}
        text = json.dumps(document, indent=2, ensure_ascii=False)
        console().write_utf8(text + "\n")
        return
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        severity = rule.severity.label
        line = f"{rule.code}  {severity:<7}  {rule.name:<{width}}  {rule.summary}"
        console().write(line + "\n")
