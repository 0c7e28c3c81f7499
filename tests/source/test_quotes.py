"""Writing scalars that load back to the same value."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.source.nodes import MappingNode
from policyctl.source.plain import to_plain
from policyctl.source.quotes import quote, scalar_text
from policyctl.source.reader import read
from policyctl.source.scalars import Scalar


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("30s", "30s"),
        ("50%", "50%"),
        ("100 calls", "100 calls"),
        ("package.module:Class", "package.module:Class"),
        ("data\\queue.db", "'data\\queue.db'"),
        ("a # b", "'a # b'"),
        ("a: b", "'a: b'"),
        ("a:", "'a:'"),
        ("trailing ", "'trailing '"),
        ("*leading", "'*leading'"),
        ("it's", "'it''s'"),
        ("", "''"),
        ("yes", "'yes'"),
        ("1:30", "'1:30'"),
        ("2024-01-01", "'2024-01-01'"),
        ("12", "'12'"),
        ("null", "'null'"),
        ("9" * 101, f"'{'9' * 101}'"),
        ("...", "'...'"),
        ("---", "'---'"),
        ("- a", "'- a'"),
        ("a, b", "'a, b'"),
        ("a\nb", '"a\\nb"'),
        ("\x07\x85\u2028", '"\\x07\\x85\\u2028"'),
        ("\ufeff\U000e0001", '"\\ufeff\U000e0001"'),
        ("é", "'é'"),
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (0.5, "0.5"),
        (1e100, "1.0e+100"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
    ],
)
def test_the_plainest_safe_form(value: Scalar, text: str) -> None:
    """Plain where every parser agrees, single quotes otherwise, escapes if needed."""
    assert scalar_text(value) == text


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
_tricky = st.text("ab0-:#,[]{}&*!|>'\"%@`?~<=._ \\\t\n\r\x85\u2028", max_size=10)


@settings(max_examples=300, deadline=None)
@given(
    text=_texts | _tricky, where=st.sampled_from(["a: {}", "[{}, x]", "- {}", "? {}"])
)
def test_text_loads_back(text: str, where: str) -> None:
    """In block and flow, with our reader and with a YAML 1.1 loader, as value and key."""
    line = where.replace("{}", scalar_text(text))
    result = read(line.encode(), "f.yaml")
    assert result.diagnostics == ()
    root = result.documents[0].root
    if isinstance(root, MappingNode) and where == "? {}":
        assert [entry.key.text for entry in root.entries.values()] == [text]
        return
    expected = {"a: {}": {"a": text}, "[{}, x]": [text, "x"], "- {}": [text]}[where]
    assert to_plain(root) == expected
    assert yaml.safe_load(line) == expected


@settings(max_examples=100, deadline=None)
@given(
    value=st.integers(-(10**40), 10**40) | st.floats(allow_nan=False) | st.booleans()
)
def test_numbers_load_back(value: Scalar) -> None:
    """Numbers keep value and type."""
    (document,) = read(f"a: {scalar_text(value)}".encode(), "f.yaml").documents
    assert repr(to_plain(document.root)) == repr({"a": value})


def test_half_a_character_cannot_be_written() -> None:
    """A lone surrogate is an error of the caller."""
    with pytest.raises(ValueError, match=r"U\+D83D"):
        quote("\ud83d")
