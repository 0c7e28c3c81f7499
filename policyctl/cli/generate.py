"""``policyctl generate``: write the package, or say what is stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from policyctl.cli._console import console
from policyctl.cli._errors import UsageError
from policyctl.cli._progress import Progress


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Files: write their services alone. Folders, or nothing (the configured "
            "ones): the whole package, and modules without a policy are removed.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; exit 1 and show why if anything is stale."
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Write nothing; print the changes as a patch."),
    ] = False,
    fail_on_change: Annotated[
        bool,
        typer.Option(
            "--fail-on-change", help="Exit 1 if a file was written, for hooks."
        ),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Generate again after every change, until Ctrl-C."
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="The folder of the package."),
    ] = None,
    package: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The import name of the package."),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Apply the overlay of this environment."),
    ] = None,
    print_context: Annotated[
        str | None,
        typer.Option(
            "--print-context",
            metavar="SERVICE",
            help="Print as JSON what the templates get for a service; write nothing.",
        ),
    ] = None,
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache", help="With --check or --diff: look at everything anew."
        ),
    ] = False,
) -> int:
    """Generate the typed Python package of the policies.

    Files that are up to date are not touched, and nothing is written unless everything
    could be built. Exit codes: 0 done, or nothing stale; 1 invalid policies or stale
    output; 2 the job could not be done.
    """
    from policyctl.cli import _generation

    request = _generation.Request(
        paths=tuple(paths or ()),
        output=output,
        package=package,
        environment=environment,
    )
    if print_context is not None:
        from policyctl.cli import _context

        return _context.print_context(console(), request, print_context)
    dry = check or diff
    if watch:
        from policyctl.cli import _watch

        if dry or fail_on_change:
            other = _flag(check, diff)
            raise UsageError(
                f"--watch and {other} exclude each other", f"leave out {other}"
            )
        return _watch.watch(console(), request)
    with Progress(console(), "reading policies") as progress:
        outcome = _generation.run(request, dry=dry, step=_stages(progress))
    if outcome.findings:
        return _generation.print_findings(console(), outcome)
    _generation.print_warnings(console(), outcome)
    if dry:
        return _generation.print_comparison(console(), outcome, names=check)
    return _generation.print_written(console(), outcome, fail_on_change)


def _flag(check: bool, diff: bool) -> str:
    """The option that does not go with ``--watch``."""
    return "--check" if check else "--diff" if diff else "--fail-on-change"


def _stages(progress: Progress) -> Callable[[int, int], None]:
    """What tells the progress line how many services are done."""

    def step(done: int, total: int) -> None:
        what = f"generated {done:,} of {total:,} services"
        progress.stage(what if done < total else "comparing and writing files")

    return step
