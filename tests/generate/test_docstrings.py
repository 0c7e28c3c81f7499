"""Docstrings keep their lines, are wrapped, and cannot be broken out of."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.generate.docstrings import (
    WIDTH,
    docstring_of,
    listing,
    paragraph,
    quoted,
)


def test_short_lines_are_kept() -> None:
    """Lines and their indentation stay, blank lines at the ends go."""
    assert paragraph("\n\none\n  - two\n\n\tthree  \n\n", "  ") == [
        "  one",
        "    - two",
        "",
        "      three",
    ]


def test_indentation_is_of_spaces() -> None:
    """Form feeds and wide spaces are text, as they are for the newest Python."""
    body = "  First.\n\n\f\n      one\n    \u3000two\n\tthree\n\n"
    (node,) = ast.parse(f"def f():\n    {body!r}").body
    assert isinstance(node, ast.FunctionDef)
    assert docstring_of(node) == (
        "First.\n\n\f\n      one\n    \u3000two\n        three"
    )
    (node,) = ast.parse("def f():\n    'a\\n      b\\n    \u3000c\\n  '").body
    assert isinstance(node, ast.FunctionDef)
    assert docstring_of(node) == "a\n  b\n\u3000c"


def test_long_lines_are_wrapped() -> None:
    """A long line goes on below, indented by the hang, and no word is cut."""
    lines = paragraph("word " * 30 + "x" * 100, "  ", "    ")
    assert lines == [
        "  " + "word " * 14 + "word",
        "      " + "word " * 13 + "word",
        "      word",
        "      " + "x" * 100,
    ]
    assert max(map(len, lines[:3])) <= WIDTH


def test_listing_has_no_blank_lines() -> None:
    """Each value is a paragraph right below the one before."""
    assert listing(["a", "b c"], "  ") == ["  a", "  b c"]


def test_quotes() -> None:
    """One line is closed where it ends, unless its end would meet the quotes."""
    assert quoted([]) == ()
    assert quoted(["one"], "  ") == ('  """one"""',)
    assert quoted(["one", "two"]) == ('"""one', "two", '"""')
    assert quoted(['say "hi"']) == ('"""say "hi"', '"""')
    assert quoted(['"hi" he said']) == ('"""\\"hi" he said"""',)
    assert quoted(["back\\\\"]) == ('"""back\\\\', '"""')


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_text_is_one_string(
    data: st.DataObject, random_texts: st.SearchStrategy[str]
) -> None:
    """Whatever the text, the lines are one constant and nothing more."""
    lines = quoted(paragraph(data.draw(random_texts)))
    body = ast.parse("\n".join(lines)).body
    assert [type(node) for node in body] == ([ast.Expr] if lines else [])
    value: Any = body[0] if body else None
    assert value is None or isinstance(value.value, ast.Constant)
    assert all(line == line.rstrip() and "\t" not in line for line in lines)
