"""The line that long work shows on a terminal."""

from __future__ import annotations

import io
import threading

import pytest

from policyctl.cli import _progress
from policyctl.cli._console import Console
from policyctl.cli._progress import Progress


class Screen(io.StringIO):
    """A terminal that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.touched = threading.Event()

    def isatty(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Note that there was output."""
        length = super().write(text)
        self.touched.set()
        return length


def test_the_line_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows what goes on and for how long, and leaves nothing on the screen."""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    screen = Screen()
    with Progress(Console(None, screen, {}), "checking policies"):
        assert screen.touched.wait(60)
    shown = screen.getvalue()
    assert shown.startswith("\rchecking policies ... 0 s")
    assert shown.endswith("\r" + " " * len("checking policies ... 0 s") + "\r")


def test_quick_work_shows_nothing() -> None:
    """Below the patience nothing is written at all."""
    screen = Screen()
    with Progress(Console(None, screen, {}), "checking policies"):
        pass
    assert screen.getvalue() == ""


def test_only_terminals_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log file gets no line, and no thread is started for it."""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    log = io.StringIO()
    before = set(threading.enumerate())
    with Progress(Console(None, log, {}), "checking policies"):
        assert set(threading.enumerate()) <= before
    assert log.getvalue() == ""


def test_an_error_inside_still_wipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is gone before the error is told."""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    screen = Screen()

    def fail() -> None:
        with Progress(Console(None, screen, {}), "x"):
            assert screen.touched.wait(60)
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert screen.getvalue().endswith("\r")
