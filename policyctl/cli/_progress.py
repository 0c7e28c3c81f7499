"""A line on the terminal for work that takes more than a second."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from policyctl.cli._console import Console, is_terminal

PATIENCE = 1.0
"""Seconds before the line appears."""
_INTERVAL = 0.2


class Progress:
    """Shows what a command is doing; on anything but a terminal it shows nothing.

    The line is wiped before anything else is written, so it never ends up in output.
    """

    def __init__(self, console: Console, what: str) -> None:
        self._console = console
        self._what = what
        self._shown = 0
        self._seconds = 0.0
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if is_terminal(self._console.err):
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self.wipe()

    def stage(self, what: str) -> None:
        """Say what goes on from here."""
        self._what = what

    def show(self, seconds: float) -> None:
        """Write the line over the one before."""
        text = f"{self._what} ... {seconds:.0f} s"
        self._console.draw("\r" + text.ljust(self._shown))
        self._shown = len(text)

    def wipe(self) -> None:
        """Remove the line."""
        if self._shown:
            self._console.draw("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _run(self) -> None:
        waited = PATIENCE
        if self._done.wait(PATIENCE):
            return
        self.show(waited)
        while not self._done.wait(_INTERVAL):
            waited += _INTERVAL
            self.show(waited)
