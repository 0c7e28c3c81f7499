"""``policyctl baseline``: record the findings of an old code base."""

from __future__ import annotations

from typing import Annotated

import typer

from policyctl.cli._app import help_unless_command
from policyctl.cli._console import console
from policyctl.cli._progress import Progress

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    """Keep the file of known findings, which validate does not report again."""
    help_unless_command(context)


@app.command()
def update(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Look at these services alone. Default: the configured policies.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The file. Default: the configured one."),
    ] = None,
    allow_growth: Annotated[
        bool,
        typer.Option(
            "--allow-growth", help="Record findings that the baseline does not know."
        ),
    ] = False,
    environment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Apply the overlay of this environment."),
    ] = None,
) -> int:
    """Take out of the baseline what is no longer found.

    It shrinks; with --allow-growth new findings are recorded too. Exit codes: 0 done;
    1 there are findings that it does not know; 2 the job could not be done.
    """
    from policyctl.cli import _baseline_update

    request = _baseline_update.Request(
        tuple(paths or ()), baseline, allow_growth, environment
    )
    with Progress(console(), "checking policies"):
        outcome = _baseline_update.run(request)
    return _baseline_update.show(console(), outcome)
