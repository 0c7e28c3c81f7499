"""Comments: what is one, what only looks like one, and where it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policyctl.source.comments import find_comments
from policyctl.source.decode import line_starts
from policyctl.source.nodes import Comment, Source
from policyctl.source.reader import ReadResult

Reader = Callable[[str], ReadResult]


def found(result: ReadResult) -> list[tuple[str, bool]]:
    """Text and own-line mark of the comments of the only document."""
    (document,) = result.documents
    return [(comment.text, comment.own_line) for comment in document.comments]


def test_own_lines_and_line_ends(reader: Reader) -> None:
    """A comment knows whether it stands alone, and its offsets."""
    result = reader("# one\na: 1  # two\n  # three\nb: # four\n  c: 2")
    assert found(result) == [
        ("# one", True),
        ("# two", False),
        ("# three", True),
        ("# four", False),
    ]
    assert result.documents[0].comments[1] == Comment(12, 17, "# two", False)


@pytest.mark.parametrize(
    "value",
    [
        "a#b",
        "'# no'",
        '"x # no"',
        "http://x/#y",
        "[a#b, '# c']",
        "!<tag:yaml.org,2002:str> x#",
    ],
)
def test_signs_inside_values_are_no_comments(reader: Reader, value: str) -> None:
    """Neither in plain nor in quoted text, nor in flow."""
    assert found(reader(f"a: {value} # yes\n")) == [("# yes", False)]


def test_block_scalars(reader: Reader) -> None:
    """Text of a block is not, the rest of its first line is, what follows it is."""
    text = "a: | # head\n  # text\n  more # text\n# after\nb: >-\n  # text\n\n# end\n"
    assert found(reader(text)) == [
        ("# head", False),
        ("# after", True),
        ("# end", True),
    ]


def test_quotes_over_several_lines(reader: Reader) -> None:
    """A quoted text that goes on hides its signs on every line."""
    text = "a: 'one\n  # two\n  three' # yes\nb: \"\\\n  # x\" # too\n"
    assert found(reader(text)) == [("# yes", False), ("# too", False)]


def test_flow_over_several_lines(reader: Reader) -> None:
    """Comments between the items of a list are found."""
    text = "a: [ # one\n  b, # two\n  # three\n  '#c' # four\n] # five\n"
    assert [text for text, _own in found(reader(text))] == [
        f"# {word}" for word in ("one", "two", "three", "four", "five")
    ]


def test_values_that_a_merge_or_duplicate_hides_still_hide_signs(
    reader: Reader,
) -> None:
    """A quoted text that is no longer in the tree is still no comment."""
    text = "a:\n  <<: {b: 'x # no'}\n  b: 1 # yes\nc: 1\nc: ' # no'\n"
    assert found(reader(text)) == [("# yes", False)]


def test_a_text_without_the_sign(reader: Reader) -> None:
    """There is nothing to find."""
    assert found(reader("a: 1\n")) == []


def test_crlf(reader: Reader) -> None:
    """A comment ends before the carriage return."""
    assert found(reader("a: 1 # one\r\n# two\r\nb: 2\r\n")) == [
        ("# one", False),
        ("# two", True),
    ]


def test_many_comments_take_linear_time() -> None:
    """Two hundred thousand comments in one text are found at once."""
    text = "# one\n" * 200_000
    source = Source("f.yaml", text, False, line_starts(text))
    comments = find_comments(source, 0, len(text))
    assert len(comments) == 200_000
    assert all(comment.own_line for comment in comments)


def test_each_document_searches_its_own_part(reader: Reader) -> None:
    """Hidden signs of other documents neither hide nor cost anything."""
    result = reader("".join(f"a: '# {n}' # c{n}\n---\n" for n in range(300)))
    found = [[c.text for c in document.comments] for document in result.documents]
    assert found == [[f"# c{n}"] for n in range(300)]
