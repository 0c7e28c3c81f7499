"""What is said about text that is not YAML, whichever parser finds it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from policyctl.source.events import C_PARSER
from policyctl.source.nodes import Source
from policyctl.source.reader import ReadResult, read
from policyctl.source.syntax import translate

Reader = Callable[[str], ReadResult]

CASES = [
    ("a:\n\tb: 1\n", "2:1", "SY005", "a tab is used for indentation"),
    ("a:\n  b: 1\n\tc: 1\n", "3:1", "SY005", "a tab is used for indentation"),
    ("a: 1\n\tb: 2\n", "2:1", "SY005", "a tab is used for indentation"),
    ("a:\n  - b\n \t- c: d: e\n", "3:2", "SY005", "a tab is used for indentation"),
    ("a: >\n\tb\n", "2:1", "SY005", "a tab is used for indentation"),
    ("a: [1, 2\nb: 3\n", "1:4", "SY006", "the list that opens here is not closed"),
    ("a: {b: 1\n", "1:4", "SY006", "the mapping that opens here is not closed"),
    ("a: [1, 'b' c]\n", "1:12", "SY006", "expected a comma or ] here"),
    ("a: 'x\nb: y\n", "1:4", "SY007", "the quoted text that opens here is not closed"),
    ('a: "x\n---\n"', "1:4", "SY007", "the quoted text that opens here is not closed"),
    ('a: "b\\qc"', "1:6", "SY008", '"\\q" is not an escape that YAML knows'),
    (
        'a: "\\xzz"',
        "1:5",
        "SY008",
        '"\\x" is not followed by the digits of a character code',
    ),
    (
        "a: @b\n",
        "1:4",
        "SY020",
        'a value cannot begin with "@" unless it is in quotes',
    ),
    (
        "a: `b`\n",
        "1:4",
        "SY020",
        'a value cannot begin with "`" unless it is in quotes',
    ),
    (
        "a: [%b]\n",
        "1:5",
        "SY020",
        'a value cannot begin with "%" unless it is in quotes',
    ),
    ("a: *\n", "1:4", "SY020", '"*" begins an anchor or alias, and no name follows'),
    (
        "a: b: c\n",
        "1:5",
        "SY021",
        "a second colon on this line; a value cannot hold a colon and a space",
    ),
    (
        "a: 1\n b: 2\n",
        "2:2",
        "SY021",
        (
            "the key 'b' does not fit here: the line above is not complete, or the "
            "indentation differs"
        ),
    ),
    ("a: 1\n- b\n", "2:1", "SY004", "a list item stands where a key is expected"),
    ("a: [1]]\n", "1:7", "SY004", '"]" closes nothing'),
    ("a: 'b' c\n", "1:8", "SY004", "there is text after the closing quote"),
    (
        "a:\n    b: 1\n  c: 2\n",
        "3:3",
        "SY004",
        "expected a key here; the indentation fits no mapping above",
    ),
    (
        "- a\nb: c\n",
        "2:1",
        "SY004",
        'expected the next list item, which begins with "- "',
    ),
    ("a: 1\nb\nc: 2\n", "2:1", "SY004", "this line is not a key with a colon"),
    ("a: - b\n", "1:4", "SY004", "a list item cannot begin on this line"),
    ("a: ? b\n", "1:4", "SY004", "a key cannot begin here"),
    ("a: [,]\n", "1:5", "SY004", "a value is missing here"),
    ("a: | b\n", "1:6", "SY004", 'text stands on the line of "|" or ">"'),
    ("[a]\nb: c\n", "2:1", "SY004", "there is text after the end of the document"),
    (
        "%YAML 2.0\n---\na: 1\n",
        "1:1",
        "SY004",
        "the %YAML line asks for an unknown version",
    ),
    ("!x!y a\n", "1:1", "SY011", "the tag is not allowed"),
    ("a: *b\n", "1:4", "SY012", "the alias *b has no anchor"),
]


@pytest.mark.parametrize(("text", "place", "code", "message"), CASES)
def test_place_and_words(
    reader: Reader, text: str, place: str, code: str, message: str
) -> None:
    """Each kind of fault has one finding with its own words, place and remedy."""
    (found,) = reader(text).diagnostics
    assert (found.code, found.message) == (code, message)
    assert str(found.span) == f"f.yaml:{place}"
    assert found.help


def test_the_opening_bracket_and_the_place_of_failure_are_both_shown(
    reader: Reader,
) -> None:
    """An unclosed list points at its bracket, and at what could not be read."""
    (found,) = reader("a: [1,\n  2\nb: 3\n").diagnostics
    assert str(found.span) == "f.yaml:1:4"
    ((span, words),) = [(r.span, r.message) for r in found.related]
    assert (span.line, words) == (3, "expected a comma or ] before this")


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        ("a: @b # c\n", "put the value in quotes: '@b'"),
        ("a: {b: @c, d: 1}\n", "put the value in quotes: '@c'"),
        ("a: `it's`\n", "put the value in quotes: '`it''s`'"),
        ("a: &base {x: 1}\nb: *bse\n", "did you mean *base?"),
        ("{{ x }}: 1\n", 'a value that begins with "{{" has to be put in quotes'),
    ],
)
def test_the_help_holds_the_text_to_write(
    reader: Reader, text: str, help_text: str
) -> None:
    """Where the remedy can be spelled out, it is."""
    (found,) = reader(text).diagnostics
    assert found.help == help_text


@pytest.mark.skipif(C_PARSER is None, reason="only libyaml refuses these")
@pytest.mark.parametrize(
    ("text", "place", "code", "message"),
    [
        ("a: [b:]\n", "1:6", "SY021", "a colon cannot stand here inside brackets"),
        (
            "%b\n",
            "1:1",
            "SY020",
            'a line that begins with "%" is taken for a directive',
        ),
    ],
)
def test_what_only_libyaml_refuses(
    text: str, place: str, code: str, message: str
) -> None:
    """The pure parser goes on, or stops at another place."""
    (found,) = read(text.encode(), "f.yaml").diagnostics
    assert (found.code, found.message) == (code, message)
    assert str(found.span) == f"f.yaml:{place}"


def test_an_unknown_parser_message_is_passed_on() -> None:
    """Words that we do not know still give a placed finding."""
    source = Source("f.yaml", "abc", line_starts=[0])
    error = yaml.MarkedYAMLError(problem="did not find expected thing")
    found = translate(source, error)
    assert (found.code, found.message) == ("SY004", "expected thing")
    assert str(found.span) == "f.yaml:1:4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a: "\\ud800"\n', '"\\ud800" is not the code of a character'),
        ('a: "\\U00110000"\n', '"\\U00110000" is not the code of a character'),
        ('a: "\\u12"\n', '"\\u" is not followed by the digits of a character code'),
        (f"{'k' * 1500}: 1\n", "this key is longer than the 1024 characters"),
        (f"a: 1\n{'k' * 1500}\n", "this line is not a key with a colon"),
    ],
)
def test_what_looks_right_but_is_not_says_why(text: str, message: str) -> None:
    """A code that is no character, and a key that is too long, are called that."""
    found = read(text.encode(), "p.yaml").diagnostics
    assert message in found[0].message
