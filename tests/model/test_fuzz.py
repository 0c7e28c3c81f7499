"""Any document at all: validation ends, and what it finds can be shown."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.model.keys import key_places
from policyctl.model.validate import MOST_FINDINGS, parse_document
from policyctl.source.reader import read

_KEYS = st.sampled_from(
    [*sorted(key_places()), "x-a", "timeout", "retri", "charge", ""]
)
_WORDS = ["off", "5s", "30", "1 call", "50%", "40/s", "a:b", "a.b", "timeout", "429", "1MiB", "full"]  # fmt: skip
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(_WORDS),
    st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=60),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda below: st.lists(below, max_size=3)
    | st.dictionaries(_KEYS, below, max_size=4),
    max_leaves=12,
)
_INTERNALS = ("pydantic", "Input should", "<class", "Traceback", "object at 0x")


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(_KEYS, _VALUES, max_size=5),
    st.dictionaries(_KEYS, _VALUES, max_size=5),
)
def test_any_document_has_a_model_or_findings(
    top: dict[str, Any], operation: dict[str, Any]
) -> None:
    """Findings lie in the text, are short, and name no internals."""
    data = {"version": 1, "service": "pay", "operations": {"charge": operation}, **top}
    text = json.dumps(data, ensure_ascii=False)
    (document,) = read(text.encode(), "f.yaml").documents
    parsed = parse_document(document)
    assert (parsed.model is None) == bool(parsed.diagnostics)
    assert len(parsed.diagnostics) <= MOST_FINDINGS + 1
    places = [(d.code, d.span) for d in parsed.diagnostics]
    assert len(set(places)) == len(places)
    for finding in parsed.diagnostics:
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
        shown = f"{finding.message} {finding.help}"
        assert finding.help
        assert len(shown) < 500
        assert shown.isprintable()
        assert not any(word in shown for word in _INTERNALS)
