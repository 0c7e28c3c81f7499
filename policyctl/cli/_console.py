"""Standard output and error: colour, encodings, and readers that have gone away."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from policyctl.reports.report import Report

NARROWEST = 20
"""Columns below which nothing is fitted any more."""


def wants_color(stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Whether to colour what goes to ``stream``.

    ``NO_COLOR`` (not empty) wins over ``FORCE_COLOR`` (neither empty nor 0); without
    either, a terminal that is not dumb is coloured.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if environment.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether ``stream`` is there and is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def columns(stream: TextIO | None) -> int | None:
    """The width of the terminal behind a stream; None where it is none."""
    try:
        if stream is None or not stream.isatty():
            return None
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return width if width >= NARROWEST else None


class Console:
    """Where a command writes. A reader that closed the pipe is not an error.

    Characters that the terminal cannot show are written as escapes. Reports for
    machines are UTF-8 whatever the locale says.
    """

    def __init__(
        self, out: TextIO | None, err: TextIO | None, environment: Mapping[str, str]
    ) -> None:
        self.out = out
        self.err = err
        self.color = wants_color(out, environment)
        self.error_color = wants_color(err, environment)
        self.width, self.error_width = self.widths = columns(out), columns(err)
        self.closed = out is None
        self.log: list[tuple[str, str]] | None = None

    def write(self, text: str) -> None:
        """Write text for people to standard output.

        Raises:
            OSError: the output could not take it, for example a full disk.
        """
        if self.log is not None:
            self.log.append(("out", text))
        if self.out is None or self.closed:
            return
        try:
            self.out.write(text)
        except BrokenPipeError:
            self.abandon()

    def write_utf8(self, text: str) -> None:
        """Write a report for machines to standard output, as UTF-8 with ``\\n``.

        Raises:
            OSError: the output could not take it.
        """
        if self.log is not None:
            self.log.append(("utf8", text))
        if self.out is None or self.closed:
            return
        binary = getattr(self.out, "buffer", None)
        if binary is None:
            self.out.write(text)
            return
        try:
            self.out.flush()
            binary.write(text.encode("utf-8", "backslashreplace"))
            binary.flush()
        except BrokenPipeError:
            self.abandon()

    def write_error(self, text: str) -> None:
        """Write to standard error; nothing can be done if that fails."""
        if self.log is not None:
            self.log.append(("err", text))
        self.draw(text)

    def write_report(self, report: Report) -> None:
        """Write findings to standard error, as text."""
        from policyctl import reports

        self.write_error(
            reports.render(
                "text", report, color=self.error_color, width=self.error_width
            )
        )

    def draw(self, text: str) -> None:
        """Write to standard error what belongs to this run alone, such as progress."""
        if self.err is None:
            return
        try:
            self.err.write(text)
            self.err.flush()
        except (OSError, ValueError):
            self.err = None

    def error(self, message: str, help: str | None = None) -> None:
        """Write ``error: message`` and a help line to standard error."""
        label, hint = "error", "help"
        if self.error_color:
            label, hint = f"\033[1;31m{label}\033[0m", f"\033[1;36m{hint}\033[0m"
        text = f"{label}: {printable(message)}\n"
        if help:
            text += f"  {hint}: {printable(help)}\n"
        self.write_error(text)

    def note(self, message: str) -> None:
        """Write a line for people to standard error."""
        self.write_error(f"{message}\n")

    def flush(self) -> None:
        """Write out what is buffered.

        Raises:
            OSError: the output could not take it.
        """
        if self.out is None or self.closed:
            return
        try:
            self.out.flush()
        except BrokenPipeError:
            self.abandon()

    def close(self) -> None:
        """Write out what is left, so that nothing fails while Python shuts down."""
        try:
            self.flush()
        except (OSError, ValueError):
            self.abandon()

    def replay(self, outputs: list[tuple[str, str]]) -> None:
        """Write what an earlier run wrote.

        Raises:
            OSError: the output could not take it.
        """
        write = {"out": self.write, "utf8": self.write_utf8, "err": self.write_error}
        for kind, text in outputs:
            write[kind](text)

    def abandon(self) -> None:
        """Send what is still buffered nowhere: the reader has gone."""
        self.closed = True
        if self.out is sys.__stdout__:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)


def printable(text: str) -> str:
    """``text`` with control characters shown as escapes; new lines and tabs stay.

    Paths and values come from files, and a terminal would obey what they hold.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1]
        for char in text
    )


_current: Console | None = None


def open_console() -> Console:
    """Make standard output and error safe to write to; return the console."""
    global _current
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    _current = Console(sys.stdout, sys.stderr, os.environ)
    return _current


def console() -> Console:
    """The console of this run."""
    return _current or open_console()
