"""``policyctl validate``: the gate for people, hooks and continuous integration."""

from __future__ import annotations

from typing import Annotated

import typer

from policyctl.cli import _complete
from policyctl.cli._console import console
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
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Leave out the findings that this file knows. Default: the configured one.",
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Apply safe fixes, and report what is left."),
    ] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="With --fix or --diff: also apply those that change behaviour.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="Write nothing; print what --fix would change as a patch."
        ),
    ] = False,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Neither use nor keep the outcome of a run."),
    ] = False,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Count the findings of each rule instead."),
    ] = False,
) -> int:
    """Parse, validate, resolve and lint policies.

    Exit codes: 0 clean; 1 findings at or above --fail-on, or invalid policies; 2 the job
    could not be done.
    """
    from policyctl.cli import _report, _validate_options, _validation

    targets = _report.targets(format or (), output_file or ())
    mending = _validate_options.Mending(fix, unsafe_fixes, diff)
    _validate_options.check(
        mending, tuple(paths or ()), stdin_filename, targets, statistics
    )
    request = _validation.Request(
        paths=tuple(paths or ()),
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        fail_on=None if fail_on is None else fail_on.value,
        environment=environment,
        stdin_filename=stdin_filename,
        baseline=baseline,
    )
    if mending.wanted:
        return _validate_options.mend(console(), request, mending, targets, statistics)
    with Progress(console(), "checking policies"):
        report = _validation.check(request)
    _report.write_all(console(), report, targets, statistics)
    return _validation.exit_code(report)
