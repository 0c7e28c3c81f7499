"""The entry point of the ``policyctl`` command; ``--version`` is answered at once.

This file imports nothing that Python has not loaded by itself.
"""

import os
import sys

_INTERRUPTED = 130


def run(argv: list[str] | None = None) -> int:
    """Run the command line on ``argv`` (default: of the process); return the exit code.

    Whatever happens becomes a message and a code, see ``_exit.py``.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if arguments in (["--version"], ["-V"]):
        return _print_version()
    from policyctl.cli._run import run

    return run(arguments)


def main() -> None:
    """Run the command line and end the process with its exit code.

    It ends at once: freeing a large run's objects one by one takes longer than what
    the operating system does, and all output has been written.
    """
    code = _INTERRUPTED
    _leave_on_interrupt()
    try:
        code = run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    while True:
        try:
            _leave_on_interrupt()
            break
        except KeyboardInterrupt:
            code = _INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            code = code or 2
    os._exit(code)


def _leave_on_interrupt() -> None:
    """Until a command runs, and once it is done, Ctrl-C ends the process at once.

    A command in between raises ``KeyboardInterrupt`` and cleans up (``_run.py``). Where
    the interruption is ignored, as in the background of a shell, it stays so.
    """
    signal = __import__("_signal")  # the module signal would load enum with it
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    sys.unraisablehook = _unraisable


def _leave(*_arguments: object) -> None:
    os._exit(_INTERRUPTED)


def _unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """An interruption in a callback or finalizer would be printed and forgotten."""
    if unraisable.exc_type is KeyboardInterrupt:
        _leave()
    sys.__unraisablehook__(unraisable)


def _print_version() -> int:
    """Print the version with as few imports as can be."""
    from policyctl._version import __version__

    if sys.stdout is None:  # closed before the start
        return 0
    try:
        sys.stdout.write(f"policyctl {__version__}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        sys.stderr.write(f"error: standard output: {error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 2
    return 0
