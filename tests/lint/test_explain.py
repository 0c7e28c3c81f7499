"""Documentation of rules as data."""

from __future__ import annotations

from typing import ClassVar

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.explain import SettingDocs, docs
from policyctl.lint.registry import rule_by_code, unknown_patterns
from policyctl.lint.rule import Rule


class Documented(Rule):
    """One line that sums it up.

    What:
        First paragraph,
        over two lines.

        - a list
        - stays a list

    Why:
        Because.

    Bad:
        service: a
        operations:
          get: {}

    Good:
        service: a

    Fix:
        Mend it.

    False positives:
        None.

    References:
        First book
        Second book
    """

    code: ClassVar[str] = "XX003"
    name: ClassVar[str] = "documented"
    severity: ClassVar[Severity] = Severity.INFO
    facts: ClassVar[tuple[str, ...]] = ("facts.capacity",)


class Undocumented(Rule):
    """A line alone."""

    code: ClassVar[str] = "XX004"
    name: ClassVar[str] = "undocumented"
    severity: ClassVar[Severity] = Severity.INFO


def test_sections() -> None:
    """Paragraphs are joined, lists and YAML keep their lines."""
    page = docs(Documented)
    assert (page.code, page.name, page.severity) == (
        "XX003",
        "documented",
        Severity.INFO,
    )
    assert page.summary == "One line that sums it up"
    assert page.what == ("First paragraph, over two lines.\n\n- a list\n- stays a list")
    assert page.bad == "service: a\noperations:\n  get: {}\n"
    assert page.references == ("First book", "Second book")
    assert page.facts == ("facts.capacity",)
    assert page.settings == ()


def test_missing_sections_are_an_error() -> None:
    """Whoever writes a rule hears what is missing."""
    with pytest.raises(ValueError, match="XX004: sections are "):
        docs(Undocumented)


def test_settings_are_shown_as_the_configuration_writes_them() -> None:
    """Durations have units."""
    rule = rule_by_code("RT001")
    assert rule is not None
    assert docs(rule).settings[1] == SettingDocs(
        "loop_backoff", "10s", "the back-off that a control loop must grow to"
    )


def test_unknown_patterns_come_with_the_nearest() -> None:
    """Codes, names and beginnings of codes are known."""
    known = ["RT001", "RT", "too-many-attempts", "SU0"]
    assert unknown_patterns(known) == []
    assert unknown_patterns(["RT1", "too-many-atempts"])[1] == (
        "too-many-atempts",
        "too-many-attempts",
    )
    assert unknown_patterns(["", "zzzzzzzz"]) == [("", None), ("zzzzzzzz", None)]
