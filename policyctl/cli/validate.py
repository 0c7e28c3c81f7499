"""``policyctl validate``: the gate for people, hooks and continuous integration."""

from __future__ import annotations

from typing import Annotated

import typer

from policyctl.cli import _complete
from policyctl.cli._console import console
from policyctl.cli._errors import UsageError
from policyctl.cli._formats import Level
from policyctl.cli._progress import Progress


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Files and folders; - is standard input. Default: the configured ones.",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            autocompletion=_complete.rules,
            help="Run these rules only: codes, names or beginnings of codes. Repeatable.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            autocompletion=_complete.rules,
            help="Do not run these rules. Repeatable.",
        ),
    ] = None,
    fail_on: Annotated[
        Level | None,
        typer.Option(
            help="The lowest severity that makes the exit code 1. [default: error]",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT",
            autocompletion=_complete.formats,
            help="text, concise, json, sarif, github or junit. Repeatable, with files.",
        ),
    ] = None,
    output_file: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Write the format at the same position to this file. Repeatable.",
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Apply the overlay of this environment."),
    ] = None,
    stdin_filename: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The file that standard input stands for."),
    ] = None,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Count the findings of each rule instead."),
    ] = False,
) -> int:
    """Parse, validate, resolve and lint policies.

    Exit codes: 0 clean; 1 findings at or above --fail-on, or invalid policies; 2 the job
    could not be done.
    """
    from policyctl.cli import _report, _validation

    if stdin_filename is not None and "-" not in (paths or ()):
        raise UsageError("--stdin-filename goes with the path -")
    targets = _report.targets(format or (), output_file or ())
    if statistics and not _report.goes_to_people(targets):
        raise UsageError("--statistics goes with text or concise on standard output")
    request = _validation.Request(
        paths=tuple(paths or ()),
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        fail_on=None if fail_on is None else fail_on.value,
        environment=environment,
        stdin_filename=stdin_filename,
    )
    with Progress(console(), "checking policies"):
        report = _validation.check(request)
    for target in targets:
        if statistics and target.file == _report.STDOUT:
            console().write(_report.statistics(report))
        else:
            _report.write(console(), report, target)
    return _validation.exit_code(report)
