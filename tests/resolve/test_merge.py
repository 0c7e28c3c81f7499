"""Laws of merging."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policyctl.resolve.merge import merge, merge_all
from policyctl.resolve.tree import EMPTY, Block, Layer, plain, wrap

KEYS = ("retry", "budget", "total", "max")
LEAVES = st.one_of(st.integers(0, 3), st.just("off"), st.lists(st.integers(0, 2)))
SETTINGS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(st.sampled_from(KEYS), LEAVES, max_size=3),
    lambda inner: st.dictionaries(
        st.sampled_from(KEYS), st.one_of(LEAVES, inner), max_size=3
    ),
    max_leaves=6,
)


def tree(data: dict[str, Any], name: str = "a") -> Block:
    return wrap(data, Layer("preset", name=name))


def merged(*layers: dict[str, Any]) -> Any:
    return plain(merge_all(tree(layer) for layer in layers))


def expected(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merging written the slow and obvious way."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = expected(result[key], value)
        else:
            result[key] = value
    return result


@given(SETTINGS, SETTINGS)
def test_mappings_merge_and_everything_else_is_replaced(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    """Later wins key by key; lists, scalars and off replace what was there."""
    assert merged(base, over) == expected(base, over)


@given(SETTINGS, SETTINGS)
def test_laying_a_layer_twice_changes_nothing(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    """Merging is idempotent."""
    assert merged(base, over, over) == merged(base, over)


@given(SETTINGS)
def test_an_empty_layer_changes_nothing(data: dict[str, Any]) -> None:
    """The empty layer is neutral on both sides."""
    assert merged({}, data) == merged(data, {}) == data


@given(SETTINGS, SETTINGS)
def test_merging_leaves_its_inputs_alone(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    """A preset shared by services is not changed by any of them."""
    below, above = tree(base), tree(over)
    merge(below, above)
    assert (plain(below), plain(above)) == (base, over)


@given(SETTINGS, SETTINGS)
def test_each_leaf_keeps_the_layer_that_set_it(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    """A leaf of the result belongs to the overlay exactly if the overlay has it."""
    both = merge(tree(base, "base"), tree(over, "over"))
    for key in {*base, *over}:
        node = both.entries[key]
        if isinstance(node, Block):
            continue
        assert node.layer.name == ("over" if key in over else "base")


def test_off_is_laid_like_any_value_and_can_be_undone() -> None:
    """Off drops an inherited block; a later block starts from nothing."""
    base = {"retry": {"max_attempts": 3, "retry_on": ["timeout"]}}
    assert merged(base, {"retry": "off"}) == {"retry": "off"}
    again = merged(base, {"retry": "off"}, {"retry": {"max_attempts": 2}})
    assert again == {"retry": {"max_attempts": 2}}


def test_off_of_something_not_inherited_is_accepted() -> None:
    """Off without anything to switch off is just off."""
    assert merged({}, {"hedge": "off"}) == {"hedge": "off"}


def test_alternatives_replace_each_other() -> None:
    """One form of a fallback, a window or a forward drops the other forms."""
    assert merged(
        {"fallback": {"value": [], "fallback_on": ["timeout"]}},
        {"fallback": {"call": "a:b"}},
    ) == {"fallback": {"call": "a:b", "fallback_on": ["timeout"]}}
    assert merged(
        {"circuit_breaker": {"window": {"seconds": 30.0}}},
        {"circuit_breaker": {"window": {"calls": 100}}},
    ) == {"circuit_breaker": {"window": {"calls": 100}}}
    assert merged(
        {"idempotency": {"forward": {"header": "K"}}},
        {"idempotency": {"forward": {"argument": "k"}}},
    ) == {"idempotency": {"forward": {"argument": "k"}}}
    assert merged(
        {"idempotency": {"key": ["a"]}}, {"idempotency": {"key": {"call": "a:b"}}}
    ) == {"idempotency": {"key": {"call": "a:b"}}}


def test_a_block_without_a_form_keeps_the_inherited_one() -> None:
    """Changing fallback_on alone leaves the inherited value."""
    assert merged(
        {"fallback": {"value": 1}}, {"fallback": {"fallback_on": ["timeout"]}}
    ) == {"fallback": {"value": 1, "fallback_on": ["timeout"]}}


def test_a_fallback_value_is_replaced_whole() -> None:
    """A mapping that is a value is data, not settings to be merged."""
    assert merged(
        {"fallback": {"value": {"a": 1}}}, {"fallback": {"value": {"b": 2}}}
    ) == {"fallback": {"value": {"b": 2}}}


def test_jitter_is_replaced_whole() -> None:
    """An inherited ratio does not stay behind another kind of jitter."""
    assert merged(
        {"backoff": {"jitter": {"kind": "ratio", "ratio": 0.2}}},
        {"backoff": {"jitter": {"kind": "full"}}},
    ) == {"backoff": {"jitter": {"kind": "full"}}}


def test_no_layers_give_an_empty_tree() -> None:
    """Merging nothing gives nothing."""
    assert merge_all([]) == EMPTY
