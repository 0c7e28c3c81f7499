"""Every rule, found by walking the folder of rules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from types import ModuleType

from policyctl.lint import rules as package
from policyctl.lint.rule import Rule


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """All built-in rules, by code."""
    found: list[type[Rule]] = []
    for entry in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{entry.name}")
        found.extend(rules_in(module))
    return tuple(sorted(found, key=lambda rule: rule.code))


def rules_in(module: ModuleType) -> list[type[Rule]]:
    """The rules that a module defines itself."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Rule)
        and value.__module__ == module.__name__
        and "code" in vars(value)
    ]


def rule_by_code(text: str, extra: Iterable[type[Rule]] = ()) -> type[Rule] | None:
    """The rule called ``text``, by code (any case) or by kebab-case name.

    ``extra`` are house rules.
    """
    for rule in (*all_rules(), *extra):
        if text.upper() == rule.code or text == rule.name:
            return rule
    return None


def matches(rule: type[Rule], pattern: str) -> bool:
    """Whether ``pattern`` is the rule's name, its code, or a beginning of its code."""
    return pattern == rule.name or (pattern != "" and rule.code.startswith(pattern))


def unknown_patterns(
    patterns: Iterable[str], extra: Iterable[type[Rule]] = ()
) -> list[tuple[str, str | None]]:
    """Patterns that no rule matches, each with the nearest code or name."""
    rules = (*all_rules(), *extra)
    return [
        (pattern, nearest(pattern, rules))
        for pattern in patterns
        if not any(matches(rule, pattern) for rule in rules)
    ]


def nearest(text: str, rules: Iterable[type[Rule]] | None = None) -> str | None:
    """The code or name of a rule that is most like ``text``, or None."""
    known = all_rules() if rules is None else rules
    words = [word for rule in known for word in (rule.code, rule.name)]
    for word in words:
        if word.lower() == text.lower():
            return word
    found = get_close_matches(text, words, 1, 0.6)
    return found[0] if found else None
