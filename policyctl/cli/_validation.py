"""What ``validate`` does between its options and its report."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from policyctl import config
from policyctl.cli import _baseline, _exit, _lint, _recording, _session
from policyctl.cli._inputs import nothing
from policyctl.config import Config, ConfigError
from policyctl.diagnostics import Diagnostic, Severity, has_errors
from policyctl.lint.baseline import Filtered, apply
from policyctl.lint.coverage import Coverage
from policyctl.lint.engine import INTERNAL_ERROR, LintSettings, lint
from policyctl.reports.report import Report


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one run, as typed; None where the configuration decides."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    environment: str | None = None
    stdin_filename: str | None = None
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has read its policies.

    ``known`` is the baseline; None where there is none.
    """

    request: Request
    config: Config
    settings: LintSettings
    fail_on: Severity
    session: _session.Session
    known: _baseline.Known | None

    def with_session(self, session: _session.Session) -> Run:
        """The same run over policies that have changed."""
        return replace(self, session=session)

    def looks_at_all(self) -> bool:
        """Whether no part of the configured policies was left out."""
        return not self.request.paths


def start(
    request: Request, loaded: Config, known: _baseline.Known | None = None
) -> Run:
    """Read what a run needs; ``known`` replaces the baseline of the options.

    Raises:
        ConfigError: the configuration, the baseline or a house rule cannot be used.
        UsageError: an option names a rule that does not exist.
    """
    settings = _lint.settings(loaded, request.select, request.ignore)
    known = known or _baseline.read(loaded, request.baseline)
    session = _session.load(
        loaded,
        request.paths,
        environment=request.environment,
        stdin_filename=request.stdin_filename,
    )
    fail_on = Severity.parse(request.fail_on) if request.fail_on else loaded.fail_on
    return Run(request, loaded, settings, fail_on, session, known)


def report(run: Run) -> Report:
    """Lint, leave out what the baseline knows, and put the report together."""
    session = run.session
    result = lint(session.project, run.settings)
    found = [*session.findings, *result.diagnostics]
    filtered = _filtered(run, tuple(found), result.coverage)
    findings = [*filtered.findings, *filtered.stale]
    if not session.project.documents and not has_errors(findings):
        findings.append(nothing(session.asked, "there is no policy"))
    _recording.note(session, *_files_of(run))
    sources = session.sources(findings)
    if filtered.stale and run.known is not None:
        sources[run.known.baseline.source.path] = run.known.baseline.source
    return Report.of(
        findings,
        sources,
        files=session.reported_files,
        services=len(session.project.reported),
        baselined=filtered.baselined,
        fail_on=run.fail_on,
    )


def _files_of(run: Run) -> list[Path]:
    """What the outcome depends on beside policies and configuration."""
    found = [] if run.known is None else [run.known.path]
    if run.config.rules is not None:
        found.append(run.config.root / run.config.rules)
    if run.settings.extra:  # which may use any module
        modules = tuple(sys.modules.values())
        files = (getattr(module, "__file__", None) for module in modules)
        found += [Path(file) for file in files if file]
    return found


def _filtered(run: Run, found: tuple[Diagnostic, ...], coverage: Coverage) -> Filtered:
    """The findings that the baseline does not know."""
    if run.known is None:
        return Filtered(found, 0, ())
    looked_at = _baseline.scope(run, coverage)
    return apply(found, run.known.baseline, looked_at)


def check(request: Request) -> Report:
    """Read, validate, resolve and lint; a broken configuration is a finding too.

    Raises:
        UsageError: an option names a rule that does not exist.
    """
    try:
        return report(start(request, config.load(Path.cwd())))
    except ConfigError as error:
        return report_of(error, request)


def report_of(error: ConfigError, request: Request) -> Report:
    """The report of a run that a configuration stopped."""
    sources = {error.source.path: error.source} if error.source else {}
    fail_on = Severity.parse(request.fail_on or "error")
    return Report.of(error.diagnostics, sources, files=1, fail_on=fail_on)


def exit_code(report: Report) -> int:
    """The exit code of a report; a rule that crashed makes the run unreliable."""
    if any(finding.code == INTERNAL_ERROR for finding in report.findings):
        return _exit.FAILED
    return _exit.code_for(report.findings, report.fail_on)
