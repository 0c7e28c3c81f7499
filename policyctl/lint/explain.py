"""The documentation of rules as data, read from their docstrings.

A docstring is a one-line summary followed by sections. Each begins with its title and a
colon on a line of its own; the text below is indented::

    What:
        When the rule fires.

    Bad:
        service: payment_api
        ...

The titles are What, Why, Bad, Good, Fix, False positives and References. Bad and
Good are YAML, run by the tests. References have one entry for each line.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass

from policyctl.diagnostics import Severity
from policyctl.lint.rule import Rule

SECTIONS = ("What", "Why", "Bad", "Good", "Fix", "False positives", "References")
_TITLE = re.compile(r"^([A-Z][a-z]*(?: [a-z]+)*):$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SettingDocs:
    """A threshold: its name, its default as the configuration writes it, and its use."""

    name: str
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class RuleDocs:
    """What ``policyctl explain CODE`` prints and the pages of the docs show."""

    code: str
    name: str
    severity: Severity
    summary: str
    what: str
    why: str
    bad: str
    good: str
    fix: str
    false_positives: str
    references: tuple[str, ...]
    facts: tuple[str, ...] = ()
    settings: tuple[SettingDocs, ...] = ()


def docs(rule: type[Rule]) -> RuleDocs:
    """Return the documentation of a rule.

    Raises:
        ValueError: the docstring lacks a section or has one that is not known.
    """
    text = inspect.cleandoc(rule.__doc__ or "")
    titles = list(_TITLE.finditer(text))
    sections: dict[str, str] = {}
    for index, title in enumerate(titles, 1):
        end = titles[index].start() if index < len(titles) else len(text)
        sections[title[1]] = textwrap.dedent(text[title.end() : end]).strip("\n ")
    if tuple(sections) != SECTIONS:
        found = ", ".join(sections) or "missing"
        raise ValueError(
            f"{rule.code}: sections are {found}, not {', '.join(SECTIONS)}"
        )
    return RuleDocs(
        rule.code,
        rule.name,
        rule.severity,
        rule.summary(),
        _paragraphs(sections["What"]),
        _paragraphs(sections["Why"]),
        sections["Bad"] + "\n",
        sections["Good"] + "\n",
        _paragraphs(sections["Fix"]),
        _paragraphs(sections["False positives"]),
        tuple(line for line in sections["References"].splitlines() if line.strip()),
        rule.facts,
        tuple(
            SettingDocs(name, setting.show(setting.default), setting.description)
            for name, setting in rule.settings().items()
        ),
    )


def _paragraphs(text: str) -> str:
    """Each paragraph on one line, so that the reader's width decides; lists stay."""
    blocks = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        block if block.lstrip().startswith("- ") else " ".join(block.split())
        for block in blocks
    )
