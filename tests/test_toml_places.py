"""Places of keys in TOML texts."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.toml_places import find_keys


def test_keys_of_every_form_are_found() -> None:
    """Tables, dotted and quoted keys, inline tables and arrays of tables are placed."""
    text = (
        'a = """\nb = 1\n"""  # b = 2\n'
        "[t . 'u v']\n"
        "c.d = {e = 1, \"f\" = [{g = '}'}]}\n"
        "h = [ # x = 1\n  1,\n  ']',\n]\n"
        "[[z]]\nk = 1979-05-27T07:32:00\n"
    )
    tomllib.loads(text)
    found = {path: text[start:end] for path, (start, end) in find_keys(text).items()}
    assert found == {
        ("a",): "a",
        ("t",): "t . 'u v'",
        ("t", "u v"): "t . 'u v'",
        ("t", "u v", "c"): "c.d",
        ("t", "u v", "c", "d"): "c.d",
        ("t", "u v", "c", "d", "e"): "e",
        ("t", "u v", "c", "d", "f"): '"f"',
        ("t", "u v", "c", "d", "f", "g"): "g",
        ("t", "u v", "h"): "h",
        ("z",): "z",
        ("z", "k"): "k",
    }


KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True)
SCALARS = st.one_of(
    st.integers(-99, 99),
    st.booleans(),
    st.text("ab\"'\\#=[]{},.\n", max_size=8),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)


def written(value: object) -> str:
    """A TOML text of a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[\n" + ", # ]\n".join(written(item) for item in value) + "\n]"
    if isinstance(value, dict):
        pairs = (f"{key} = {written(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def paths(value: object, prefix: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """All key paths of a value; items of lists share the list's path."""
    found: set[tuple[str, ...]] = set()
    if isinstance(value, dict):
        for key, item in value.items():
            found |= {(*prefix, key)} | paths(item, (*prefix, key))
    if isinstance(value, list):
        for item in value:
            found |= paths(item, prefix)
    return found


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_exactly_the_keys_of_the_document_are_found(tree: dict[str, Any]) -> None:
    """The scanner sees the keys that the TOML parser sees, and each stands there."""
    text = "".join(f"{key} = {written(value)}\n" for key, value in tree.items())
    assert tomllib.loads(text) == tree
    found = find_keys(text)
    assert set(found) == paths(tree)
    for path, (start, end) in found.items():
        assert text[start:end] == path[-1]
