"""Excerpts over any text and any places."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.reports._excerpt import MAX_WIDTH, Mark, excerpt
from policyctl.source.decode import line_starts
from policyctl.source.nodes import Source


def source(text: str) -> Source:
    """A text as the reader holds it."""
    return Source("f.yaml", text, False, line_starts(text))


_texts = st.text("ab \t価\u0301\x1b\u202e\r\n😀", max_size=400) | st.text(max_size=300)


@settings(max_examples=150, deadline=None)
@given(
    text=_texts,
    places=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 40)), min_size=1, max_size=3
    ),
)
def test_any_place_of_any_text(text: str, places: list[tuple[int, int]]) -> None:
    """Every mark gets an underline, rows stay short, and nothing invisible is printed."""
    held = source(text)
    marks: list[Mark] = []
    for start, length in places:
        first = min(start, len(text))
        last = min(first + length, len(text))
        marks.append(Mark(held.span(first, last), "", primary=not marks))
    rows = excerpt(held, marks)
    underlines = [row for row in rows if row.kind in ("primary", "secondary")]
    assert len(underlines) == len(marks)
    assert [row.kind for row in underlines].count("primary") == 1
    for row in rows:
        assert row.text.isprintable()
        assert len(row.text) <= 2 * MAX_WIDTH + 2
    for row in underlines:
        assert set(row.text.strip(" ")) in ({"^"}, {"-"})


@given(
    before=st.text("abc: ", max_size=40),
    inside=st.text("xyz", min_size=1, max_size=20),
    after=st.text("def ", max_size=30),
)
def test_an_underline_lies_below_its_text(before: str, inside: str, after: str) -> None:
    """In plain text the columns of the underline are those of the text."""
    text = f"first\n{before}{inside}{after}\n"
    held = source(text)
    start = 6 + len(before)
    rows = excerpt(held, [Mark(held.span(start, start + len(inside)), "here", True)])
    assert [row.number for row in rows] == [2, None]
    assert rows[0].text == f"{before}{inside}{after}"
    assert rows[1].text == " " * len(before) + "^" * len(inside) + " here"


def test_a_line_that_is_gone() -> None:
    """A place past the end of a text that changed meanwhile does not fail."""
    held, longer = source("a\n"), source("a\nb\nc: 12345\n")
    rows = excerpt(held, [Mark(longer.span(7, 12), "there")])
    assert [(row.kind, row.text) for row in rows] == [
        ("source", ""),
        ("secondary", "- there"),
    ]


@pytest.mark.parametrize("end", ["", "  # fällt aus"])
def test_a_long_line_is_cropped_around_its_mark(end: str) -> None:
    """What is shown of a long line does not depend on what else the line holds."""
    text = (
        "calls: [" + ", ".join(f"{{to: s{n:04}.op}}" for n in range(2000)) + "]" + end
    )
    held = source(text)
    start = text.index("s1500.op")
    rows = excerpt(held, [Mark(held.span(start, start + 8), "here", True)])
    assert len(rows) == 2
    at = rows[0].text.index("s1500.op")
    assert rows[0].text[1:-1] == text[start - at + 1 : start - at + MAX_WIDTH + 1]
    assert (rows[0].text[0], rows[0].text[-1]) == ("…", "…")
    assert rows[1].text == " " * at + "^" * 8 + " here"
