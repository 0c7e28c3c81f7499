"""What ``validate`` does between its options and its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policyctl import config
from policyctl.cli import _exit, _lint, _session
from policyctl.cli._inputs import nothing
from policyctl.config import Config, ConfigError
from policyctl.diagnostics import Severity, has_errors
from policyctl.lint.engine import INTERNAL_ERROR, lint
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


def check(request: Request) -> Report:
    """Read, validate, resolve and lint; a broken configuration is a finding too.

    Raises:
        UsageError: an option names a rule that does not exist.
    """
    threshold = Severity.parse(request.fail_on) if request.fail_on else None
    try:
        loaded = config.load(Path.cwd())
        return _check(request, loaded, threshold or loaded.fail_on)
    except ConfigError as error:
        sources = {error.source.path: error.source} if error.source else {}
        fail_on = threshold or Severity.ERROR
        return Report.of(error.diagnostics, sources, files=1, fail_on=fail_on)


def exit_code(report: Report) -> int:
    """The exit code of a report; a rule that crashed makes the run unreliable."""
    if any(finding.code == INTERNAL_ERROR for finding in report.findings):
        return _exit.FAILED
    return _exit.code_for(report.findings, report.fail_on)


def _check(request: Request, loaded: Config, threshold: Severity) -> Report:
    settings = _lint.settings(loaded, request.select, request.ignore)
    session = _session.load(
        loaded,
        request.paths,
        environment=request.environment,
        stdin_filename=request.stdin_filename,
    )
    result = lint(session.project, settings)
    findings = [*session.findings, *result.diagnostics]
    if not session.project.documents and not has_errors(findings):
        findings.append(nothing(session.asked, "there is no policy"))
    return Report.of(
        findings,
        session.sources(findings),
        files=session.reported_files,
        services=len(session.project.reported),
        fail_on=threshold,
    )
