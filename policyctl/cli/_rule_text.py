"""The documentation of a lint rule, for people and for programs."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policyctl.lint.explain import RuleDocs

WIDTH = 80


def as_json(rule: RuleDocs) -> dict[str, Any]:
    """The documentation as JSON data, keys as the sections of a rule's docstring."""
    data = asdict(rule)
    data["severity"] = rule.severity.label
    return data


def as_text(rule: RuleDocs, color: bool) -> str:
    """The documentation as a page of text."""

    def title(text: str) -> str:
        return f"\033[1m{text}\033[0m" if color else text

    parts = [
        title(f"{rule.code} {rule.name}") + f" ({rule.severity.label})",
        _filled(rule.summary),
        title("When it fires"),
        _filled(rule.what),
        title("Why"),
        _filled(rule.why),
        title("Bad"),
        textwrap.indent(rule.bad.rstrip(), "    "),
        title("Good"),
        textwrap.indent(rule.good.rstrip(), "    "),
        title("Fix"),
        _filled(rule.fix),
        title("False positives"),
        _filled(rule.false_positives),
    ]
    if rule.facts:
        parts += [title("Facts that it needs"), _listed(rule.facts)]
    if rule.settings:
        lines = [
            f"{item.name} = {item.default}: {item.description}"
            for item in rule.settings
        ]
        parts += [title(f"Settings ([thresholds.{rule.code}])"), _listed(lines)]
    parts += [title("References"), _listed(rule.references)]
    return _joined(parts)


def _joined(parts: list[str]) -> str:
    """The head, then titles each directly above their text."""
    text = f"{parts[0]}\n{parts[1]}\n"
    for heading, body in zip(parts[2::2], parts[3::2], strict=True):
        text += f"\n{heading}\n{body}\n"
    return text


def _filled(text: str) -> str:
    """Paragraphs wrapped to the width and indented; lists stay as they are."""
    blocks = [
        (
            textwrap.indent(block, "  ")
            if block.lstrip().startswith("- ")
            else textwrap.fill(
                block,
                WIDTH,
                initial_indent="  ",
                subsequent_indent="  ",
                **_WHOLE_WORDS,
            )
        )
        for block in text.split("\n\n")
    ]
    return "\n\n".join(blocks)


def _listed(lines: list[str] | tuple[str, ...]) -> str:
    """One bullet for each line."""
    return "\n".join(
        textwrap.fill(
            line, WIDTH, initial_indent="  - ", subsequent_indent="    ", **_WHOLE_WORDS
        )
        for line in lines
    )


_WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}
