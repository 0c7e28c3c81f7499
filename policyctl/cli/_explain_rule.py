"""``explain RULE``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches

from policyctl.cli import _rule_text
from policyctl.cli._console import Console
from policyctl.cli._errors import CommandError
from policyctl.cli._formats import TextOrJson
from policyctl.cli._lint import configured_rules
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules, rule_by_code
from policyctl.lint.rule import Rule

_EITHER = "an error or a warning"
_KINDS = {
    "SY019": "a warning",
    "CF204": _EITHER,
    "VA109": _EITHER,
    "VA137": _EITHER,
    "VA139": _EITHER,
}
"""What a finding of a check is, where it is not always an error."""


def explain(console: Console, name: str, format: TextOrJson) -> int:
    """Print the documentation of a rule.

    Raises:
        CommandError: there is no rule of that code or name.
        ConfigError: the configuration, or a house rule, cannot be used.
    """
    extra = configured_rules()
    rule = rule_by_code(name, extra)
    if rule is None:
        raise _unknown(name, extra)
    page = docs(rule)
    if format is TextOrJson.json:
        document = {"version": 1, "rules": [_rule_text.as_json(page)]}
        console.write_utf8(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        console.write(_rule_text.as_text(page, console.color))
    return 0


def _unknown(name: str, extra: tuple[type[Rule], ...]) -> CommandError:
    """The error for a rule that does not exist, or a check that is not a rule."""
    for code, title, summary in _checks():
        if name.upper() == code or name == title:
            said = f": {summary}" if summary else ""
            kind = _KINDS.get(code, "an error")
            return CommandError(
                f"{code} {title} is {kind}, not a lint rule{said}",
                "it cannot be switched off; where it is reported, its help line says "
                "what to change",
            )
    rules = (*all_rules(), *extra)
    words = [word for rule in rules for word in (rule.code, rule.name)]
    near = get_close_matches(name.upper(), words, 1) or get_close_matches(
        name, words, 1
    )
    hint = f"did you mean {near[0]}?" if near else "policyctl rules lists them"
    return CommandError(f"there is no rule {name}", hint)


def _checks() -> Iterator[tuple[str, str, str]]:
    """Code, name and summary of every finding that is not a lint rule's."""
    from policyctl.generate.codes import CODES as GENERATED
    from policyctl.model.codes import NAMES as model_names
    from policyctl.resolve.codes import CODES
    from policyctl.source.codes import NAMES as syntax_names
    from policyctl.source.files import NAMES as file_names

    for names in (syntax_names, model_names, file_names):
        for code, name in names.items():
            yield code, name, ""
    for code, (name, summary) in (*CODES.items(), *GENERATED.items()):
        yield code, name, summary
