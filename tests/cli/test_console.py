"""Colour, encodings and control characters."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import Mapping

import pytest

from policyctl.cli import _cache
from policyctl.cli._console import Console, printable, wants_color


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": ""}, False),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_who_gets_colour(
    terminal: bool, environment: Mapping[str, str], expected: bool
) -> None:
    """A terminal does, unless NO_COLOR says no or FORCE_COLOR says yes to others."""
    stream = Terminal() if terminal else io.StringIO()
    assert wants_color(stream, environment) is expected


def test_a_closed_or_missing_stream_has_no_colour() -> None:
    """Without standard output, or after it was closed, nothing is asked of it."""
    stream = Terminal()
    stream.close()
    assert wants_color(None, {}) is False
    assert wants_color(io.StringIO(), {}) is False
    assert wants_color(stream, {}) in (True, False)


def test_errors_are_labelled_and_coloured_apart() -> None:
    """The label is bold red on a terminal and plain elsewhere."""
    plain, terminal = io.StringIO(), Terminal()
    Console(None, plain, {}).error("it broke", "mend it")
    Console(None, terminal, {}).error("it broke")
    assert plain.getvalue() == "error: it broke\n  help: mend it\n"
    assert terminal.getvalue() == "\033[1;31merror\033[0m: it broke\n"


def test_control_characters_reach_no_terminal() -> None:
    """Escapes from a file are shown, not obeyed; letters of any script stay."""
    assert printable("a\x1b[31mb\x00\x7f") == "a\\x1b[31mb\\x00\\x7f"
    assert printable("支付\tété\n") == "支付\tété\n"
    assert printable("\u202e") == "\\u202e"


class Gone(io.StringIO):
    """A pipe whose reader has closed it."""

    def write(self, text: str) -> int:
        """Fail as a pipe without a reader does."""
        raise BrokenPipeError


def test_a_reader_that_went_away_is_no_error() -> None:
    """After the first failure nothing more is written, and nothing is raised."""
    console = Console(Gone(), None, {})
    console.write("one\n")
    assert console.closed
    console.write("two\n")
    console.write_utf8("three\n")
    console.close()


def test_reports_for_machines_are_utf8_in_any_locale() -> None:
    """The bytes are UTF-8 with plain line feeds, though the stream is ASCII."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii", newline="\r\n")
    console = Console(stream, None, {})
    console.write("a\n")
    console.write_utf8('{"é": 1}\n')
    assert raw.getvalue() == b'a\r\n{"\xc3\xa9": 1}\n'


def test_reports_fit_the_terminal_that_they_go_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each stream has its own width, and what is kept for one is not shown in another."""
    ours, theirs = pty.openpty()
    size = os.terminal_size((40, 24))
    monkeypatch.setattr(os, "get_terminal_size", lambda _fd: size)
    with os.fdopen(ours, "rb", 0), os.fdopen(theirs, "w", encoding="utf-8") as err:
        console = Console(io.StringIO(), err, {})
    assert console.widths == (None, 40)
    keys = {
        _cache.key_of(["validate"], False, False, widths)
        for widths in ((None, 40), (None, 80), (40, None), (None, None))
    }
    assert len(keys) == 4
