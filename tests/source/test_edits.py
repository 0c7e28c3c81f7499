"""Edits of the original text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.diagnostics import Edit, Fix
from policyctl.source.decode import line_starts
from policyctl.source.edits import apply_edits, apply_fixes, encode, replacement
from policyctl.source.nodes import Source
from policyctl.source.reader import read


def source(text: str, *, has_bom: bool = False) -> Source:
    """A text as the reader would hold it."""
    return Source("f.yaml", text, has_bom, line_starts(text))


def edit(of: Source, start: int, end: int, text: str) -> Edit:
    """An edit by offsets."""
    return Edit(of.span(start, end), text)


def fix(of: Source, *ranges: tuple[int, int, str]) -> Fix:
    """A fix of several edits."""
    return Fix("mend", tuple(edit(of, *item) for item in ranges), safe=True)


def test_edits_in_any_order() -> None:
    """Offsets are those of the original text."""
    text = source("a: 1\nb: 2\n")
    edits = [edit(text, 8, 9, "twenty"), edit(text, 3, 4, "")]
    assert apply_edits(text, edits) == "a: \nb: twenty\n"


def test_insertions_at_one_place_keep_their_order() -> None:
    """The first given comes first."""
    text = source("ac")
    edits = [edit(text, 1, 1, "1"), edit(text, 1, 1, "2")]
    assert apply_edits(text, edits) == "a12c"


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([(0, 2), (1, 3)], "edits of f.yaml overlap at offset 1"),
        ([(0, 9)], "f.yaml:1:1 is not in the text of 4 characters"),
    ],
)
def test_bad_edits_are_refused(ranges: list[tuple[int, int]], message: str) -> None:
    """Nothing is guessed."""
    text = source("a: 1")
    with pytest.raises(ValueError, match=message):
        apply_edits(text, [edit(text, start, end, "x") for start, end in ranges])


def test_an_edit_of_another_file_is_refused() -> None:
    """Spans name their file."""
    other = Source("g.yaml", "a: 1")
    with pytest.raises(
        ValueError, match=r"an edit of g.yaml cannot be applied to f.yaml"
    ):
        apply_edits(source("a: 1"), [edit(other, 0, 1, "b")])


def test_a_fix_is_applied_whole_or_waits() -> None:
    """A fix that meets an earlier one in any of its edits waits altogether."""
    text = source("abcdef")
    first = fix(text, (1, 3, "X"))
    second = fix(text, (0, 1, "Y"), (2, 4, "Z"))
    third = fix(text, (3, 5, "W"))
    applied = apply_fixes(text, [first, second, third])
    assert applied.text == "aXWf"
    assert applied.applied == (first, third)
    assert applied.waiting == (second,)


def test_two_insertions_of_different_fixes_at_one_place_do_not_mix() -> None:
    """The second waits, since it may not hold after the first."""
    text = source("a: {}\n")
    one, two = fix(text, (4, 4, "x: 1")), fix(text, (4, 4, "y: 1"))
    applied = apply_fixes(text, [one, two])
    assert (applied.text, applied.waiting) == ("a: {x: 1}\n", (two,))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_new_lines_are_those_of_the_file(newline: str) -> None:
    """Inserted text takes the file's own line breaks."""
    text = source(f"a: 1{newline}b: 2{newline}")
    at = len(text.text)
    new = apply_edits(text, [replacement(text, at, at, "c: 3\n")])
    assert new == f"a: 1{newline}b: 2{newline}c: 3{newline}"


def test_the_byte_order_mark_stays() -> None:
    """The bytes begin as those of the file did."""
    data = b"\xef\xbb\xbfa: 1\r\n"
    read_back = read(data, "f.yaml").source
    assert read_back is not None
    assert encode(read_back, read_back.text) == data
    changed = apply_edits(read_back, [edit(read_back, 3, 4, "é")])
    assert encode(read_back, changed) == b"\xef\xbb\xbfa: \xc3\xa9\r\n"


@given(
    text=st.text("ab\n\ré😀", min_size=1, max_size=30),
    cuts=st.lists(st.integers(0, 30), min_size=2, max_size=8),
    new=st.text("xy\n", max_size=4),
)
def test_only_the_edited_characters_change(
    text: str, cuts: list[int], new: str
) -> None:
    """What lies between the edits is the original, character for character."""
    places = sorted(min(cut, len(text)) for cut in cuts)
    ranges = list(zip(places[::2], places[1::2], strict=False))
    original = source(text)
    result = apply_edits(original, [edit(original, a, b, new) for a, b in ranges])
    kept: list[str] = []
    position = 0
    for start, end in ranges:
        kept.append(text[position:start])
        position = end
    assert result == new.join([*kept, text[position:]])
