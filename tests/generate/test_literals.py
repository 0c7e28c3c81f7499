"""Literals are those that black prints, and hide nothing."""

from __future__ import annotations

import pytest

from policyctl.generate.literals import UnprintableError, number, string, text

STRINGS = [
    ("", '""'),
    ("plain", '"plain"'),
    ("it's", '"it\'s"'),
    ('say "hi"', "'say \"hi\"'"),
    ('it\'s "both"', "'it\\'s \"both\"'"),
    ("a'b\"c", '"a\'b\\"c"'),
    ("a\\b", '"a\\\\b"'),
    ("a\nb\r\tc", '"a\\nb\\r\\tc"'),
    ("\0\x1b\x7f\x85", '"\\x00\\x1b\\x7f\\x85"'),
    ("é中文", '"é中文"'),
    ("e\u0301", '"e\u0301"'),
    ("\u0301e", '"\\u0301e"'),
    ("\u202e\u2066\u200b\ufeff", '"\\u202e\\u2066\\u200b\\ufeff"'),
    ("\u2028\u2029\u00a0\u3000", '"\\u2028\\u2029\\xa0\\u3000"'),
    ("\u3164\u00ad\ufe0f\u2800", '"\\u3164\\xad\\ufe0f\\u2800"'),
    ("\ud800", '"\\ud800"'),
    ("\U0001f600\U0010ffff", '"\\U0001f600\\U0010ffff"'),
    ("{{ x }} {% y %}", '"{{ x }} {% y %}"'),
]
NUMBERS: list[tuple[float, str]] = [
    (0, "0"),
    (-5, "-5"),
    (10**30, "1000000000000000000000000000000"),
    (5.0, "5.0"),
    (0.1, "0.1"),
    (1e16, "1e16"),
    (1.5e300, "1.5e300"),
    (1e-7, "1e-07"),
    (-0.0, "-0.0"),
]


@pytest.mark.parametrize(("value", "literal"), STRINGS)
def test_strings(value: str, literal: str) -> None:
    """Double quotes unless single ones need fewer backslashes; lower-case escapes."""
    assert string(value) == literal


@pytest.mark.parametrize(("value", "literal"), NUMBERS)
def test_numbers(value: float, literal: str) -> None:
    """The shortest form, without a plus in the exponent."""
    assert number(value) == literal


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**4001])
def test_numbers_without_a_literal(value: float) -> None:
    """What is not finite, or longer than Python reads back, has no literal."""
    with pytest.raises(UnprintableError):
        number(value)


def test_the_longest_integers_can_be_read_back() -> None:
    """A number of 4,000 digits is within what Python converts."""
    assert int(number(10**3999)) == 10**3999


def test_text_of_comments_and_docstrings() -> None:
    """Backslashes and invisible characters are escaped, triple quotes broken up."""
    assert text('a\\b "c" \u202e\n """"""') == ('a\\\\b "c" \\u202e\\n ""\\"""\\"')


def test_a_docstring_shows_lone_surrogates() -> None:
    """They are shown with a backslash: some Pythons cannot compile the character."""
    assert text("\ud800 \udfff \\ud800") == "\\\\ud800 \\\\udfff \\\\ud800"
    compile(f'"""{text(chr(0xD800))}"""', "generated.py", "exec")
