"""Runs a command and turns whatever happens into a message and an exit code."""

from __future__ import annotations

import os

from policyctl.cli import _errors
from policyctl.cli._console import Console, open_console
from policyctl.cli._exit import FAILED, INTERRUPTED

_DISTRIBUTIONS = {
    "black": "black",
    "griffe": "griffelib",
    "jinja2": "jinja2",
    "pydantic": "pydantic",
    "ruamel": "ruamel.yaml",
    "typer": "typer",
    "yaml": "PyYAML",
}


def run(arguments: list[str]) -> int:
    """Run the command that ``arguments`` name; return the exit code.

    No traceback leaves here, unless ``POLICYCTL_DEBUG=1`` asks for those of internal
    errors.
    """
    console = open_console()
    try:
        code = _invoke(arguments)
        console.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = _fail(console, error)
    console.close()
    return code


def _invoke(arguments: list[str]) -> int:
    """Hand over to typer, which may be missing."""
    from policyctl.cli import _app

    return _app.invoke(arguments)


def _fail(console: Console, error: Exception) -> int:
    """Say in one line what went wrong, and how to mend or report it."""
    if os.environ.get("POLICYCTL_DEBUG") == "1":
        import traceback

        console.write_error(traceback.format_exc())
    if isinstance(error, ModuleNotFoundError):
        package = _DISTRIBUTIONS.get((error.name or "").partition(".")[0])
        if package is not None:
            console.error(
                f"the policyctl command needs {package}, which is not installed",
                "pip install 'policyctl[cli]'",
            )
            return FAILED
    report = _errors.findings_of(error)
    if report is None:
        console.error(*_errors.describe(error))
    else:
        from policyctl import reports

        console.write_error(reports.render("text", report, color=console.error_color))
    return FAILED
