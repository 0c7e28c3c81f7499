"""What ``generate`` does between its options and its output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from policyctl import config
from policyctl.cli import _exit, _memo, _recording, _session
from policyctl.cli._console import Console
from policyctl.cli._errors import UsageError
from policyctl.cli._inputs import matches, nothing
from policyctl.config import Config
from policyctl.config_values import InvalidSetting, package_name, package_of
from policyctl.diagnostics import Diagnostic, Severity, has_errors
from policyctl.generate.assemble import Step
from policyctl.generate.build import Prepared, finish, prepare
from policyctl.generate.bundle import FOLDER
from policyctl.generate.compare import Comparison, compare
from policyctl.generate.memo import Memo
from policyctl.generate.options import GenerateOptions
from policyctl.generate.tree import NotBuiltError
from policyctl.generate.write import OutputError, Written, write
from policyctl.reports.report import Report
from policyctl.resolve.policy import Project
from policyctl.source.nodes import Source

IO_CODES = frozenset({"GN006", "GN007"})
"""Findings about the output folder: the job could not be done."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one run, as typed; None where the configuration decides."""

    paths: tuple[str, ...] = ()
    output: str | None = None
    package: str | None = None
    environment: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        folder: the output folder as shown to people.
        modules: how many services the run generates.
        findings: errors that stopped it.
        warnings: findings of validation that did not.
        sources: the texts that both point into, by path.
        comparison: what is stale, of a run that writes nothing.
        written: what was written otherwise.
    """

    folder: str
    modules: int = 0
    findings: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] | None = None
    files: int = 0
    comparison: Comparison | None = None
    written: Written | None = None


Confirm = Callable[[], bool]
"""Whether what was read is still what is there, asked right before writing."""


class ChangedError(Exception):
    """The policies changed while the package was built, so nothing was written."""


def run(
    request: Request,
    *,
    dry: bool,
    step: Step | None = None,
    confirm: Confirm | None = None,
) -> Outcome:
    """Load, build, then compare (``dry``) or write.

    A run that writes takes files that it has printed before from the disk; one that
    compares builds everything.

    Raises:
        ConfigError: the configuration cannot be used.
        UsageError: an option has a value that it does not take.
        ChangedError: ``confirm`` said no.
    """
    if "-" in request.paths:
        raise UsageError(
            "generate reads files, not standard input", "name files or folders"
        )
    loaded = config.load(Path.cwd())
    try:
        memo = None if dry else _memo.read(loaded.root)
        return _run(request, loaded, dry, memo, step, confirm)
    except NotBuiltError:  # somebody changed the output in between
        return _run(request, loaded, dry, None, step, confirm)


def _run(
    request: Request,
    loaded: Config,
    dry: bool,
    memo: Memo | None,
    step: Step | None,
    confirm: Confirm | None,
) -> Outcome:
    session = _session.load(
        loaded, request.paths, environment=request.environment, whole=True, frugal=True
    )
    options = options_of(request, loaded, session)
    stopped = Outcome(
        options.output.as_posix(),
        warnings=session.findings,
        sources=session.sources(session.findings),
        files=session.reported_files,
    )
    if has_errors(session.findings):
        return _stopped(stopped, session, session.findings)
    project = _generated(session, loaded, options.partial)
    if not project.services:
        return _stopped(
            stopped,
            session,
            (nothing(session.asked, "there is no service to generate"),),
        )
    passed_over = _asked_but_excluded(session, loaded, request.paths, project)
    if passed_over is not None:
        return _stopped(stopped, session, (passed_over,))
    prepared = prepare(project, options)
    if prepared.diagnostics:
        return _stopped(stopped, session, prepared.diagnostics)
    outcome = replace(stopped, modules=_count(project, options))
    if dry:
        own = [options.templates] if options.templates is not None else []
        _recording.note(session, options.output, *own)
    # From here on services are let go one by one, so nothing else may hold them.
    del project, session
    _session.forget()
    return _finish(prepared, options, outcome, loaded.root, dry, memo, step, confirm)


def _finish(
    prepared: Prepared,
    options: GenerateOptions,
    outcome: Outcome,
    root: Path,
    dry: bool,
    memo: Memo | None,
    step: Step | None,
    confirm: Confirm | None,
) -> Outcome:
    built = finish(prepared, options, memo, step)
    if built.diagnostics:
        return replace(outcome, findings=built.diagnostics)
    comparison = compare(built, options)
    outcome = replace(outcome, comparison=comparison)
    if comparison.conflicts:
        return replace(outcome, findings=comparison.conflicts)
    if dry:
        return outcome
    if confirm is not None and not confirm():
        raise ChangedError
    try:
        written = write(built, comparison, options)
    except OutputError as error:
        return replace(outcome, findings=error.diagnostics)
    if memo is not None:
        _memo.write(root, memo, partial=options.partial)
    return replace(outcome, written=written)


def _count(project: Project, options: GenerateOptions) -> int:
    """How many services this run generates."""
    if options.partial:
        return len(project.reported & project.services.keys())
    return len(project.services)


def _stopped(
    outcome: Outcome, session: _session.Session, findings: Iterable[Diagnostic]
) -> Outcome:
    """The outcome with the errors among ``findings``."""
    errors = tuple(d for d in findings if d.severity is Severity.ERROR)
    return replace(outcome, findings=errors, sources=session.sources(errors))


def options_of(
    request: Request, loaded: Config, session: _session.Session
) -> GenerateOptions:
    """The generator's options from the command line and the configuration."""
    if request.output is None:
        output = Path(os.path.relpath(loaded.root / loaded.output))
    else:
        output = Path(os.path.normpath(request.output))
    return GenerateOptions(
        output=output,
        package=_package(request, loaded),
        target_python=loaded.target_python,
        environment=session.environment,
        runtime=loaded.runtime,
        templates=_templates(loaded),
        partial=session.gathered.partial,
        root=loaded.root if loaded.path is not None else None,
        inputs=session.gathered.roots,
    )


def _templates(loaded: Config) -> Path | None:
    """The folder of the team's own templates, as given or from the working folder."""
    if loaded.templates is None:
        return None
    return Path(os.path.abspath(loaded.root / loaded.templates))


def _package(request: Request, loaded: Config) -> str:
    """The import name: the option, the configuration's key, or the folder's name."""
    try:
        if request.package is not None:
            return package_name("--package", request.package)
        if request.output is None or loaded.sets("package"):
            return loaded.package
        return package_of(os.path.abspath(request.output))
    except InvalidSetting as error:
        raise UsageError(str(error), error.help) from None
    except ValueError as error:
        raise UsageError(str(error), "name it with --package") from None


def _asked_but_excluded(
    session: _session.Session, loaded: Config, paths: Sequence[str], project: Project
) -> Diagnostic | None:
    """The finding for a folder whose services are all left out, though it is named."""
    if not loaded.generate_exclude:
        return None
    files = {file.display: file.path for file in session.gathered.files}
    for name in filter(os.path.isdir, paths):
        folder = Path(os.path.abspath(name))
        inside = {
            service
            for service, found in session.project.services.items()
            if (path := files.get(found.path)) and path.is_relative_to(folder)
        }
        if inside and not inside & project.services.keys():
            finding = nothing([name], "generate-exclude leaves out every service")
            hint = "name its files to generate them, or change generate-exclude"
            return replace(finding, help=hint)
    return None


def _generated(session: _session.Session, loaded: Config, partial: bool) -> Project:
    """The project with the services that are generated: not the excluded ones."""
    project = session.project
    if not loaded.generate_exclude:
        return project
    files = {file.display: file.path for file in session.gathered.files}

    def is_generated(name: str, display: str) -> bool:
        path = files.get(display)
        if path is None or (partial and name in project.reported):
            return True
        return not matches(loaded, path, loaded.generate_exclude)

    services = {
        name: service
        for name, service in project.services.items()
        if is_generated(name, service.path)
    }
    return replace(project, services=services)


def print_findings(console: Console, outcome: Outcome) -> int:
    """Say why nothing was written; return the exit code."""
    _print(console, outcome, outcome.findings)
    if any(finding.code in IO_CODES for finding in outcome.findings):
        return _exit.FAILED
    return _exit.code_for(outcome.findings, Severity.ERROR)


def print_warnings(console: Console, outcome: Outcome) -> None:
    """Show what validation found but did not stop for."""
    if outcome.warnings:
        _print(console, outcome, outcome.warnings)


def _print(
    console: Console, outcome: Outcome, findings: tuple[Diagnostic, ...]
) -> None:
    report = Report.of(findings, outcome.sources, files=outcome.files)
    console.write_report(report)


def print_comparison(console: Console, outcome: Outcome, *, names: bool) -> int:
    """Say what is stale, with a patch; return the exit code."""
    comparison = outcome.comparison
    assert comparison is not None
    if names:
        for change in comparison.changes:
            console.write(f"{change.kind.replace('_', ' ')}: {change.message}\n")
        if comparison.interrupted:
            console.write("interrupted: an earlier run was stopped while it wrote\n")
        if comparison.fresh:
            console.write(_up_to_date(outcome))
        elif comparison.stale:
            console.write("\n")
    for change in comparison.stale:
        console.write(change.diff(outcome.folder))
    return _exit.CLEAN if comparison.fresh else _exit.FINDINGS


def print_written(console: Console, outcome: Outcome, fail_on_change: bool) -> int:
    """Say what was written; return the exit code."""
    written = outcome.written
    assert written is not None
    for path in written.written:
        edited = " (an edit by hand is gone)" if path in written.hand_edited else ""
        if edited or path.parts[0] != FOLDER:
            console.write(f"wrote {outcome.folder}/{path}{edited}\n")
    for path in written.removed:
        if path.parts[0] != FOLDER:
            console.write(f"removed {outcome.folder}/{path}\n")
    for word, paths in (("wrote", written.written), ("removed", written.removed)):
        copied = sum(path.parts[0] == FOLDER for path in paths)
        if copied:
            console.write(f"{word} {outcome.folder}/{FOLDER} ({copied} files)\n")
    if not written.written and not written.removed:
        console.write(_up_to_date(outcome))
        return _exit.CLEAN
    return _exit.FINDINGS if fail_on_change else _exit.CLEAN


def _up_to_date(outcome: Outcome) -> str:
    from policyctl.reports.report import plural

    return f"up to date: {plural(outcome.modules, 'service')} in {outcome.folder}\n"
