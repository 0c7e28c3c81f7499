"""YA-01: a repeated mapping key was accepted and the last one won.

https://github.com/yaml/pyyaml/issues/165, https://github.com/yaml/pyyaml/issues/41
"""

from __future__ import annotations

import pytest

from policyctl.source.plain import to_plain
from policyctl.source.reader import read


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (
            (
                "operations:\n  charge:\n    retry: {max_attempts: 3}\n"
                "    retry: {max_attempts: 5}\n"
            ),
            "3:5",
            "4:5",
        ),
        ('"a": 1\na: 2\n', "1:1", "2:1"),
        ("'a': 1\n\"\\x61\": 2\n", "1:1", "2:1"),
        ("operations:\n  charge: {}\n  charge: {}\n", "2:3", "3:3"),
        ("caf\u00e9: 1\ncafe\u0301: 2\n", "1:1", "2:1"),
        ("a: {b: [{c: {d: 1, e: 2, d: 3}}]}\n", "1:14", "1:26"),
        ("x: &x {a: 1}\nb:\n  <<: *x\n  <<: *x\n", "3:3", "4:3"),
        ("- a: 1\n  b: 2\n  a: 3\n", "1:3", "3:3"),
        ("? a\n: 1\na: 2\n", "1:3", "3:1"),
        ("- &k a\n- *k : 1\n  a: 2\n", "1:6", "3:3"),
    ],
)
@pytest.mark.parametrize("pure", [False, True])
def test_both_places_are_shown(text: str, first: str, second: str, pure: bool) -> None:
    """A duplicate at any depth and in any spelling is one error with both positions."""
    result = read(text.encode(), "f.yaml", pure=pure)
    (found,) = result.diagnostics
    assert (found.code, found.name) == ("SY009", "duplicate-key")
    assert str(found.span) == f"f.yaml:{second}"
    ((place, words),) = [(str(r.span), r.message) for r in found.related]
    assert (place, words) == (f"f.yaml:{first}", "first used here")
    assert found.help == (
        "keep one of the two, or move the settings of both under one key"
    )


def test_equality_is_that_of_resolved_keys() -> None:
    """``1`` and ``0x1`` are one key, besides being no names at all."""
    result = read(b"1: a\n0x1: b\n", "f.yaml")
    assert [(d.code, str(d.span)) for d in result.diagnostics] == [
        ("SY010", "f.yaml:1:1"),
        ("SY010", "f.yaml:2:1"),
        ("SY009", "f.yaml:2:1"),
    ]
    assert result.diagnostics[2].message == (
        "the key '0x1' is already used on line 1, written '1'"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nA: 2\n",
        "'1': a\n'0x1': b\n",
        "a: {b: 1}\nc: {b: 2}\n",
        "a: 1\n---\na: 2\n",
    ],
)
def test_different_keys_are_not_confused(text: str) -> None:
    """Case, quoted digits, other mappings and other documents are different."""
    assert read(text.encode(), "f.yaml").diagnostics == ()


def test_the_first_is_kept() -> None:
    """What comes later never replaces silently what came first."""
    (document,) = read(b"a: {x: 1}\na: {x: 2}\n", "f.yaml").documents
    assert to_plain(document.root) == {"a": {"x": 1}}
