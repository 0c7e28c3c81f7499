"""What lint made of a service or a part of it: found, looked at, and skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from policyctl.diagnostics import Diagnostic
from policyctl.lint.coverage import is_below
from policyctl.lint.engine import LintResult

WIDTH = 76
MOST_FINDINGS = 20
"""Findings that the page shows, the worst ones; JSON has all of them."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Rules and findings at or below one policy path.

    Attributes:
        found: the findings, suppressed ones included.
        quiet: rules that looked, lacked nothing and found nothing.
        skipped: missing facts with the rules that wait for them.
        closer: missing facts with the rules that found something without them.
        left_out: rules that the configuration deselects.
    """

    found: tuple[Diagnostic, ...]
    quiet: tuple[str, ...]
    skipped: Mapping[str, tuple[str, ...]]
    closer: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """All missing facts in order, with the rules of both kinds."""
        return {
            fact: tuple(
                sorted({*self.skipped.get(fact, ()), *self.closer.get(fact, ())})
            )
            for fact in sorted({*self.skipped, *self.closer})
        }

    def as_json(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "found": [
                {
                    "code": d.code,
                    "severity": d.severity.label,
                    "message": d.message,
                    "path": d.span.path,
                    "line": d.span.line,
                    "suppressed": d.suppressed is not None,
                }
                for d in self.found
            ],
            "looked": list(self.quiet),
            "skipped": {fact: list(codes) for fact, codes in self.skipped.items()},
            "closer": {fact: list(codes) for fact, codes in self.closer.items()},
            "left_out": list(self.left_out),
        }


def build(result: LintResult, prefix: str, every: tuple[str, ...]) -> Looked:
    """What a run says about a policy path; ``every`` are the codes of all rules."""
    found = tuple(d for d in result.diagnostics if is_below(d.policy_path, prefix))
    skipped = result.coverage.wanted(prefix, closer=False)
    closer = result.coverage.wanted(prefix, closer=True)
    busy = {d.code for d in found}.union(*skipped.values(), *closer.values())
    quiet = tuple(code for code in result.coverage.ran if code not in busy)
    ran = set(result.coverage.ran)
    left_out = tuple(code for code in every if code not in ran)
    return Looked(found, quiet, skipped, closer, left_out)


def lines(looked: Looked) -> Iterator[str]:
    """The same as text."""
    worst = sorted(looked.found, key=lambda d: (d.suppressed is not None, -d.severity))
    for d in worst[:MOST_FINDINGS]:
        hidden = "" if d.suppressed is None else " (suppressed)"
        yield f"  {d.severity.label}[{d.code}] {d.message}{hidden}"
    if len(worst) > MOST_FINDINGS:
        more = f"{len(worst) - MOST_FINDINGS:,} more findings"
        yield f"  and {more}; policyctl validate shows all"
    if looked.quiet:
        yield f"  looked and found nothing: {len(looked.quiet)} rules"
        yield from _wrapped(looked.quiet)
    if looked.left_out:
        yield "  left out by the configuration:"
        yield from _wrapped(looked.left_out)
    if looked.skipped:
        yield "  skipped, since a fact is missing:"
        for fact, codes in looked.skipped.items():
            yield f"    {', '.join(codes)}: {fact}"
    if looked.closer:
        yield "  found something, and would be more exact with a fact:"
        for fact, codes in looked.closer.items():
            yield f"    {', '.join(codes)}: {fact}"


def _wrapped(codes: tuple[str, ...]) -> list[str]:
    indent = "    "
    return wrap(" ".join(codes), WIDTH, initial_indent=indent, subsequent_indent=indent)
