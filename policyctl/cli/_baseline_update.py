"""What ``baseline update`` does between its options and its output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from policyctl import config, reports
from policyctl.cli import _baseline, _exit, _validation
from policyctl.cli._console import Console
from policyctl.cli._errors import UsageError
from policyctl.cli._save import save
from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint.baseline import Update, dump, update
from policyctl.lint.engine import lint
from policyctl.reports.report import Report, plural
from policyctl.source.nodes import Source


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one run."""

    paths: tuple[str, ...]
    baseline: str | None
    allow_growth: bool
    environment: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The file with what became of it, or the errors that stopped the run."""

    display: str
    update: Update | None = None
    written: bool = False
    errors: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] | None = None


def run(request: Request) -> Outcome:
    """Lint, and write the new baseline if it differs.

    Raises:
        UsageError: no file is named.
        ConfigError: the configuration or the old baseline cannot be used.
        CommandError: the file cannot be written.
    """
    if "-" in request.paths:
        raise UsageError("a baseline is of files, not of standard input")
    loaded = config.load(Path.cwd())
    known = _baseline.read(loaded, request.baseline, may_be_missing=True)
    if known is None:
        raise UsageError(
            "no baseline is named",
            'give --baseline FILE, or set baseline = "FILE" in policyctl.toml',
        )
    asked = _validation.Request(paths=request.paths, environment=request.environment)
    started = _validation.start(asked, loaded, known)
    session = started.session
    result = lint(session.project, started.settings)
    everything = (*session.findings, *result.diagnostics)
    stopping = tuple(
        d for d in everything if d.severity is Severity.ERROR and _stops(d)
    )
    if stopping:
        sources = session.sources(stopping)
        return Outcome(known.display, errors=stopping, sources=sources)
    looked_at = _baseline.scope(started, result.coverage)
    new = update(
        known.baseline, everything, looked_at, allow_growth=request.allow_growth
    )
    text = dump(new.counts)
    fresh = known.exists and text == known.baseline.source.text
    if not fresh and (known.exists or request.allow_growth):
        save(known.path, text.encode("utf-8"))
        return Outcome(known.display, new, written=True)
    return Outcome(known.display, new)


def _stops(finding: Diagnostic) -> bool:
    """Whether a finding means that not all could be looked at."""
    return finding.code[:2] in ("SY", "VA", "CF", "LN")


def show(console: Console, outcome: Outcome) -> int:
    """Say what became of the baseline; return the exit code."""
    if outcome.update is None:
        report = Report.of(outcome.errors, outcome.sources, files=1)
        console.write_report(report)
        console.error(
            f"{outcome.display} is left as it was",
            "mend what stops validation first; a baseline cannot hold it",
        )
        return _exit.code_for(outcome.errors, Severity.ERROR)
    made = outcome.update
    total = sum(made.counts.values())
    state = "updated" if outcome.written else "unchanged"
    parts = [
        f"{number:,} {word}"
        for number, word in ((made.added, "added"), (made.removed, "removed"))
        if number
    ]
    change = f" ({', '.join(parts)})" if parts else ""
    console.write(f"{state}: {outcome.display}, {plural(total, 'finding')}{change}\n")
    if not made.refused:
        return _exit.CLEAN
    files = len({finding.span.path for finding in made.refused})
    console.write(reports.render("concise", Report.of(made.refused, files=files)))
    console.error(
        f"{plural(len(made.refused), 'finding')} not in the baseline",
        "mend them, or record them with --allow-growth",
    )
    return _exit.FINDINGS
