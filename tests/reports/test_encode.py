"""Outputs that cannot show every character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.reports.encode import encodable, one_line, visible


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "5 × 2 → 価…"),
        ("cp1252", "5 x 2 -> \\u4fa1..."),
        ("ascii", "5 x 2 -> \\u4fa1..."),
        (None, "5 x 2 -> \\u4fa1..."),
        ("no-such-encoding", "5 x 2 -> \\u4fa1..."),
    ],
)
def test_signs_become_their_look_alikes(encoding: str | None, expected: str) -> None:
    """Text that fits stays; the rest is replaced legibly."""
    assert encodable("5 × 2 → 価…", encoding) == expected


@given(st.text(), st.sampled_from(["ascii", "cp1252", "utf-8", "shift_jis", "cp437"]))
def test_the_result_can_always_be_written(text: str, encoding: str) -> None:
    """Whatever the text, lone surrogates included."""
    encodable(text + "\ud800", encoding).encode(encoding)


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("a", "a"),
        ("価", "価"),
        ("\n", "\\x0a"),
        ("\x7f", "\\x7f"),
        (" ", " "),
        ("\xa0", "\\xa0"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\ufeff", "\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_invisible_characters(character: str, shown: str) -> None:
    """Controls, formats, separators and surrogates are written as escapes."""
    assert visible(character) == shown


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    """Nothing that any program takes for a line break is left."""
    assert len(one_line(text).splitlines()) <= 1
