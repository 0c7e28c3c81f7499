"""Bytes to text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.source.decode import decode, line_starts


def test_the_mark_is_remembered_and_not_part_of_the_text() -> None:
    """Offsets count from after the byte-order mark."""
    source, problem = decode(b"\xef\xbb\xbfa: 1\n", "f.yaml")
    assert problem is None
    assert source is not None
    assert (source.text, source.has_bom, source.line_starts) == ("a: 1\n", True, [0, 5])


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        ("a: 1".encode("utf-16"), "SY001", "the file is UTF-16, not UTF-8"),
        (b"\xfe\xff\0a", "SY001", "the file is UTF-16, not UTF-8"),
        (
            "a: 1".encode("utf-16-le"),
            "SY001",
            "the file is UTF-16 without a byte-order mark, not UTF-8",
        ),
        ("a: 1".encode("utf-32"), "SY001", "the file is UTF-32, not UTF-8"),
        (
            "x: y\nname: café".encode("latin-1"),
            "SY001",
            "the file is not UTF-8: byte 0xe9 at offset 14, line 2",
        ),
        (b"a: \0", "SY002", "the file is binary: it has a NUL byte at offset 3"),
    ],
)
def test_what_is_no_utf8_text_gives_one_finding_at_the_start(
    data: bytes, code: str, message: str
) -> None:
    """The finding lies at 1:1, since there is no text to point into."""
    source, problem = decode(data, "f.yaml")
    assert source is None
    assert problem is not None
    assert (problem.code, problem.message) == (code, message)
    assert str(problem.span) == "f.yaml:1:1"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a: \x07", 4, "control or invalid character U+0007"),
        ("é\x7f", 2, "control or invalid character U+007F"),
        ("ab\ufeff", 3, "control or invalid character U+FEFF"),
        ("\uffff", 1, "control or invalid character U+FFFF"),
        (
            "a\u2028b",
            2,
            "line separator (U+2028) ends a line for some YAML parsers and not for others",
        ),
        (
            "a\x85b",
            2,
            "next line (U+0085) ends a line for some YAML parsers and not for others",
        ),
    ],
)
def test_forbidden_characters_are_placed(text: str, column: int, message: str) -> None:
    """The text is kept for the excerpt, and the first such character named."""
    source, problem = decode(text.encode(), "f.yaml")
    assert source is not None
    assert problem is not None
    assert (problem.code, problem.message) == ("SY002", message)
    assert (problem.span.line, problem.span.column) == (1, column)


@given(st.text("ab\n\r", max_size=30))
def test_line_starts_of_plain_text(text: str) -> None:
    """The fast way and the general way find the same lines."""
    source, problem = decode(text.encode(), "f.yaml")
    assert problem is None
    assert source is not None
    assert source.line_starts == line_starts(text)
