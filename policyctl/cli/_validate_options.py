"""The options of ``validate`` that go together or not, and runs that mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policyctl import config
from policyctl.cli import _exit, _fixing, _report, _validation
from policyctl.cli._console import Console
from policyctl.cli._errors import UsageError
from policyctl.cli._progress import Progress
from policyctl.config import ConfigError


@dataclass(frozen=True, slots=True)
class Mending:
    """What to do with fixes."""

    fix: bool
    unsafe: bool
    diff: bool

    @property
    def wanted(self) -> bool:
        """Whether fixes are to be worked out at all."""
        return self.fix or self.diff


def check(
    mending: Mending,
    paths: Sequence[str],
    stdin_filename: str | None,
    targets: Sequence[_report.Target],
    statistics: bool,
) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: they do not.
    """
    if stdin_filename is not None and "-" not in paths:
        raise UsageError("--stdin-filename goes with the path -")
    if statistics and not _report.goes_to_people(targets):
        raise UsageError("--statistics goes with text or concise on standard output")
    if mending.unsafe and not mending.wanted:
        raise UsageError(
            "--unsafe-fixes goes with --fix or --diff",
            "--diff shows what it would change",
        )
    if mending.fix and not mending.diff and "-" in paths:
        raise UsageError(
            "--fix cannot write to standard input", "--diff prints the changes"
        )
    if mending.diff and (statistics or _given(targets)):
        raise UsageError(
            "--diff prints a patch and no report", "leave out the options of reports"
        )


def _given(targets: Sequence[_report.Target]) -> bool:
    """Whether a format or a file was asked for."""
    return tuple(targets) != (_report.Target("text", _report.STDOUT),)


def mend(
    console: Console,
    request: _validation.Request,
    mending: Mending,
    targets: Sequence[_report.Target],
    statistics: bool,
) -> int:
    """Apply fixes, or show them; return the exit code.

    Raises:
        UsageError: an option names a rule that does not exist.
        CommandError: a file cannot be written.
    """
    try:
        with Progress(console, "fixing policies"):
            run = _validation.start(request, config.load(Path.cwd()))
            fixed = _fixing.fix(run, unsafe=mending.unsafe)
    except ConfigError as error:
        report = _validation.report_of(error, request)
        _report.write_all(console, report, targets, statistics)
        return _validation.exit_code(report)
    if mending.diff:
        for text in _fixing.patch(fixed.changes):
            console.write_utf8(text)
        console.note(_fixing.words(fixed, "would fix"))
        code = _validation.exit_code(fixed.report)
        return max(code, _exit.FINDINGS) if fixed.changes else code
    _fixing.write(fixed)
    _report.write_all(console, fixed.report, targets, statistics)
    console.note(_fixing.words(fixed, "fixed"))
    return _validation.exit_code(fixed.report)
