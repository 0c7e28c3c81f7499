"""Runs a command and turns whatever happens into a message and an exit code."""

from __future__ import annotations

import gc
import os

from policyctl.cli import _cache
from policyctl.cli._console import Console, open_console

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130
"""The exit codes of ``_exit.py``, which is loaded only when a command runs."""

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
        _raise_on_interrupt()
        code = _answer(console, arguments)
        console.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = _fail(console, error)
    console.close()
    return code


def _raise_on_interrupt() -> None:
    """From here on Ctrl-C is an exception, so that what was begun is cleaned up."""
    signal = __import__("_signal")
    handler = signal.getsignal(signal.SIGINT)
    if getattr(handler, "__module__", None) == "policyctl.cli.main":
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _answer(console: Console, arguments: list[str]) -> int:
    """The exit code of a command, from the cache where nothing has changed."""
    if not _cache.applies(arguments):
        return _invoke(arguments)
    key = _cache.key_of(arguments, console.color, console.error_color, console.widths)
    known = _cache.find(key)
    if known is not None:
        console.replay(known[1])
        return known[0]
    from policyctl.cli import _recording

    recording = _recording.begin()
    console.log = []
    try:
        code = _invoke(arguments)
        if recording.root is not None and code in (CLEAN, FINDINGS):
            _cache.store(recording.root, key, code, console.log, recording.dependencies)
    finally:
        console.log = None
        _recording.end()
    return code


def _invoke(arguments: list[str]) -> int:
    """Hand over to typer, which may be missing.

    Commands are short, and make objects by the million and hardly any garbage: cyclic
    garbage collection would only walk through the policies again and again.
    """
    from policyctl.cli import _app

    enabled = gc.isenabled()
    gc.disable()
    try:
        return _app.invoke(arguments)
    finally:
        if enabled:
            gc.enable()


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
    from policyctl.cli import _errors

    report = _errors.findings_of(error)
    if report is None:
        console.error(*_errors.describe(error))
    else:

        console.write_report(report)
    return FAILED
