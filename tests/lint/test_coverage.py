"""What lint could not look at."""

from __future__ import annotations

import pytest

from policyctl.lint.coverage import Skipped, build, is_below

COVERAGE = build(
    ["BH001", "RT006"],
    [
        Skipped("shop.facts.workers", "BH001"),
        Skipped("api.operations.load.facts.rate", "RT006"),
        Skipped("api.facts.capacity", "RT006"),
        Skipped("api.facts.capacity", "RT006"),
        Skipped("api.facts.capacity", "GR005"),
    ],
)


def test_facts_are_listed_once_with_all_that_wait() -> None:
    """Duplicates are gone, facts and codes are in order."""
    assert COVERAGE.unlocks() == {
        "api.facts.capacity": ("GR005", "RT006"),
        "api.operations.load.facts.rate": ("RT006",),
        "shop.facts.workers": ("BH001",),
    }
    assert list(COVERAGE.unlocks("api.operations")) == [
        "api.operations.load.facts.rate"
    ]
    assert list(COVERAGE.by_service()) == ["api", "shop"]


@pytest.mark.parametrize(
    ("code", "path", "waits"),
    [
        ("RT006", "api.operations.load", True),
        ("RT006", "api.operations.load.retry", True),
        ("RT006", "api.operations.other", True),
        ("RT006", "api", True),
        ("RT006", "shop", False),
        ("BH001", "api.operations.load", False),
        ("BH001", "shop.calls[api.load]", True),
    ],
)
def test_where_a_rule_waits(code: str, path: str, waits: bool) -> None:
    """A fact of the service concerns all below it, one of an operation only that."""
    assert COVERAGE.waits(code, path) is waits


@pytest.mark.parametrize(
    ("path", "prefix", "below"),
    [
        ("a.b", "", True),
        ("a.b", "a", True),
        ("a.b", "a.b", True),
        ("a.bc", "a.b", False),
        ("a.calls[x.y]", "a.calls", True),
        ("a", "a.b", False),
    ],
)
def test_paths(path: str, prefix: str, below: bool) -> None:
    """Paths are compared by whole parts."""
    assert is_below(path, prefix) is below


def test_blind_at_one_place_is_blind() -> None:
    """A rule misses exactness alone only if it found something wherever it lacked it."""
    fact = "api.facts.capacity"
    twice = [Skipped(fact, "RT006", closer=True), Skipped(fact, "RT006")]
    for order in (twice, twice[::-1]):
        assert build(["RT006"], order).skipped == (Skipped(fact, "RT006"),)
    close = build(["RT006"], twice[:1])
    assert close.blind("api") == frozenset()
    assert close.wanted("api", closer=True) == {fact: ("RT006",)}
    assert close.wanted("api", closer=False) == {}
    assert close.waits("RT006", "api")
