"""Errors that end a command with exit code 2, and what is said about them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyctl.reports.report import Report

_REPORT = "this is a defect of policyctl; POLICYCTL_DEBUG=1 shows the traceback to report it with"


_REMEDIES = {
    errno.EACCES: "give this user access to it, or name another place",
    errno.EPERM: "give this user access to it, or name another place",
    errno.EROFS: "name a place that can be written to",
    errno.ENOTDIR: "name another place: a file stands where the path wants a folder",
    errno.ENOSPC: "free some space, then run the command again",
    errno.EDQUOT: "free some space, then run the command again",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ELOOP: "correct the links on this path",
    errno.EMFILE: "raise the limit of open files: ulimit -n",
}


class CommandError(Exception):
    """The command cannot do its job; the text says why, ``help`` what to change."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


class UsageError(CommandError):
    """The command line itself is wrong."""


def describe(error: Exception) -> tuple[str, str | None]:
    """The message and the help line for an error that ended a command.

    Of an internal error only its kind and place are told: its text may hold what was
    being worked on.
    """
    if isinstance(error, CommandError):
        return str(error), error.help
    if isinstance(error, FileNotFoundError) and error.filename is None:
        if error.errno is None:  # what ships with the package is not where it should be
            return str(error), "install policyctl anew"
        return "the working directory does not exist any more", None
    if isinstance(error, OSError) and (error.strerror or error.filename):
        return _system_error(error), _REMEDIES.get(error.errno or 0)
    place = _place(error)
    kind = type(error).__name__
    return f"internal error: {kind}{place}", _REPORT


def findings_of(error: Exception) -> Report | None:
    """The report of an error that knows its place in the configuration."""
    from policyctl.config import ConfigError

    if not isinstance(error, ConfigError):
        return None
    from policyctl.reports.report import Report

    sources = {error.source.path: error.source} if error.source else {}
    return Report.of(error.diagnostics, sources, files=1)


def _system_error(error: OSError) -> str:
    """``path: reason`` for an error of the operating system."""
    reason = error.strerror or type(error).__name__
    reason = reason[:1].lower() + reason[1:]
    if error.filename is None:
        return reason
    return f"{os.fsdecode(error.filename)}: {reason}"


def _place(error: Exception) -> str:
    """`` in module:line`` of our own code that raised, if it was ours."""
    found = ""
    step = error.__traceback__
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == "policyctl":
            found = f" in {module}:{step.tb_lineno}"
        step = step.tb_next
    return found
