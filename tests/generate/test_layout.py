"""Expressions are on one line where they fit, and else one item per line."""

from __future__ import annotations

from policyctl.generate.layout import Group, call, fits, lay_out, one_line, sequence


def test_a_call_that_fits() -> None:
    """A short call stays on its line, without a trailing comma."""
    expression = call("f", [("a", "1"), ("b", sequence(['"x"', '"y"']))])
    assert lay_out("z=", expression, 4, ",") == '    z=f(a=1, b=("x", "y")),'


def test_a_call_that_does_not_fit() -> None:
    """A long call has one argument per line; what fits inside stays on its line."""
    words = [f'"{letter * 20}"' for letter in "abc"]
    expression = call("f", [("a", sequence(words)), ("b", sequence([words[0]] * 4))])
    assert lay_out("x = ", expression) == "\n".join(
        [
            "x = f(",
            f"    a=({', '.join(words)}),",
            "    b=(",
            *[f"        {words[0]},"] * 4,
            "    ),",
            ")",
        ]
    )


def test_exactly_88_columns_fit() -> None:
    """The limit is 88 with indentation and comma."""
    assert lay_out("a=", sequence(['"' + "x" * 80 + '"']), 0, ",").count("\n") == 0
    assert lay_out("a=", sequence(['"' + "x" * 81 + '"']), 0, ",").count("\n") == 2


def test_tuples_of_one_and_none() -> None:
    """One item keeps its comma; no item has no lines."""
    assert one_line(sequence(["1"])) == "(1,)"
    assert one_line(sequence(["1"], "[]")) == "[1]"
    assert lay_out("a=", sequence([]), 80, ",") == " " * 80 + "a=(),"


def test_dictionaries() -> None:
    """Keys are prefixes of their values."""
    group = Group("", "{}", (('"a": ', "1"), ('"b": ', sequence([], "[]"))))
    assert one_line(group) == '{"a": 1, "b": []}'


def test_wide_characters_count_as_two() -> None:
    """The widest that a line can be shown decides."""
    assert fits("x" * 88)
    assert not fits("x" * 89)
    assert fits("中" * 44)
    assert not fits("中" * 44 + "x")
