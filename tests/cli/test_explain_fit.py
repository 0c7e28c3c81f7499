"""explain in narrow terminals."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from policyctl.cli import _explain_fit
from policyctl.cli._console import Console, columns
from policyctl.cli._explain_policy import Request, explain
from policyctl.cli._formats import TextOrJson

POLICY = """\
version: 1
service: pay
description: Card payments, as they used to be made by the clients of the processor.
operations:
  charge:
    transport: http
    idempotent: true
    attempt_timeout: 5s
    budget: 30s
    retry: {max_attempts: 3}
    circuit_breaker: {failure_threshold: 3}
"""


def test_words_stay_whole() -> None:
    """Text goes on below itself, two columns further in; colours take no room."""
    assert _explain_fit.line_parts("  one two three", 9) == ["  one two", "    three"]
    assert _explain_fit.line_parts("    BH001 BH002", 12) == [
        "    BH001",
        "    BH002",
    ]
    assert _explain_fit.line_parts("  a/very/long/path", 8) == ["  a/very/long/path"]
    bold = "\033[1mcharge\033[0m now"
    assert _explain_fit.length(bold) == 10
    assert _explain_fit.line_parts(bold, 10) == [bold]


def test_a_bar_is_never_cut() -> None:
    """What a bar says goes to the next line."""
    line = "     0s  |==..  |  attempt 1 runs for 30s"
    assert _explain_fit.line_parts(line, 24) == [
        "     0s  |==..  |",
        "      attempt 1 runs for",
        "      30s",
    ]
    assert _explain_fit.line_parts(line, len(line)) == [line]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (23, ["  retry.a   3    p.yaml"]),
        (22, ["  retry.a  3  p.yaml"]),
        (20, ["  retry.a  3  p.yaml"]),
        (19, ["  retry.a  3", "      p.yaml"]),
        (11, ["  retry.a", "      3", "      p.yaml"]),
    ],
)
def test_rows(width: int, lines: list[str]) -> None:
    """Columns first, then without, then the origin below, then each by itself."""
    assert _explain_fit.row(("retry.a", "3", "p.yaml"), (8, 3), width) == lines


@pytest.fixture(name="terminal")
def _terminal() -> Iterator[TextIO]:
    """The end of a pseudo-terminal that programs write to."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", 0), os.fdopen(theirs, "w", encoding="utf-8") as stream:
        yield stream


def test_the_width_is_that_of_the_terminal(
    terminal: TextIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and terminals without a size are not fitted."""
    with (tmp_path / "file").open("w") as stream:
        assert columns(stream) is None
    assert columns(None) is None
    for size, width in ((80, 80), (50, 50), (0, None)):
        monkeypatch.setattr(
            os, "get_terminal_size", lambda _fd, n=size: os.terminal_size((n, 24))
        )
        assert columns(terminal) == width


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("width", [100, 80, 64, 50])
def test_no_line_of_a_page_is_longer_than_the_terminal(
    width: int,
    color: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At usual widths everything fits, with and without colours."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "pay.yaml").write_text(POLICY, "utf-8")
    environment = {"FORCE_COLOR": "1"} if color else {"NO_COLOR": "1"}
    with (tmp_path / "out").open("w+", encoding="utf-8") as out:
        console = Console(out, None, environment)
        console.width = width
        request = Request("pay.charge")
        assert explain(console, request, TextOrJson.text) == 0
        out.seek(0)
        page = out.read()
    assert ("\033[" in page) is color
    assert "circuit_breaker.recovery_timeout.multiplier" in page
    too_long = [x for x in page.splitlines() if _explain_fit.length(x) > width]
    assert too_long == []
