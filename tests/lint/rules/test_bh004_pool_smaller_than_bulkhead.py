"""BH004: connection pools that queue behind a bulkhead."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, run_yaml


def policy(pool: str, bulkhead: str = "bulkhead: {max_concurrent: 64}") -> str:
    """shop, with this pool, queries price_db."""
    return (
        f"version: 1\nservice: shop\nowner: s\nfacts: {{{pool}}}\n"
        "calls: [{to: price_db.query}]\n---\nversion: 1\nservice: price_db\nowner: p\n"
        "operations:\n  query:\n    transport: sql\n    attempt_timeout: 500ms\n"
        f"    {bulkhead}\n"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ("pool: {max: 64, acquire_timeout: 100ms}", None),
        (
            "pool: {max: 63, acquire_timeout: 100ms}",
            (
                "pool of 63 connections < bulkhead of 64 slots: up to 1 call with a slot "
                "must wait for a connection (calls to price_db.query)"
            ),
        ),
        (
            "pool: {max: 64}",
            "the wait for a connection has no limit (calls to price_db.query)",
        ),
        (
            "pool: {max: 64, acquire_timeout: 101ms}",
            (
                "acquire_timeout 101ms > 20% of attempt_timeout 500ms "
                "(calls to price_db.query)"
            ),
        ),
        ("workers: 4", None),
    ],
)
def test_boundaries(pool: str, message: str | None) -> None:
    """64 connections for 64 slots, and 100 ms = 20 % of 500 ms, are fine."""
    found = lint_yaml(policy(pool), "BH004")
    assert [d.message for d in found] == ([] if message is None else [message])


def test_help_and_places() -> None:
    """The pool is the place, the callee's bulkhead is related."""
    (found,) = lint_yaml(policy("pool: {max: 10, acquire_timeout: 50ms}"), "BH004")
    assert found.help == "set max: 64, or max_concurrent: 10"
    assert found.policy_path == "shop.facts.pool.max"
    assert found.span.line == 4
    assert [related.span.line for related in found.related] == [14]


def test_without_a_bulkhead_the_pool_is_the_limit() -> None:
    """A pool alone hides nothing."""
    assert lint_yaml(policy("pool: {max: 10}", "budget: 1s"), "BH004") == []


@pytest.mark.parametrize("mode", ["observe", "disabled"])
def test_a_bulkhead_that_rejects_nobody_is_no_limit(mode: str) -> None:
    """Then the pool is the limit, as without a bulkhead."""
    bulkhead = f"bulkhead: {{max_concurrent: 64, mode: {mode}}}"
    assert lint_yaml(policy("pool: {max: 10}", bulkhead), "BH004") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("acquire", "count"), [("50ms", 0), ("51ms", 1)])
def test_wait_share_can_be_set(acquire: str, count: int) -> None:
    """A tenth of 500 ms is 50 ms."""
    text = policy(f"pool: {{max: 64, acquire_timeout: {acquire}}}")
    settings = {"BH004": {"wait_share": 0.1}}
    assert len(lint_yaml(text, "BH004", thresholds=settings)) == count


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("pool", "lacking"),
    [
        ("pool: {acquire_timeout: 100ms}", ["shop.facts.pool.max"]),
        ("workers: 4", []),
    ],
)
def test_a_pool_of_unknown_size(pool: str, lacking: list[str]) -> None:
    """A stated pool lacks its size; a caller that states no pool has none."""
    result = run_yaml(policy(pool), "BH004")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == lacking


def test_without_an_attempt_timeout_only_the_sizes_are_compared() -> None:
    """A share of a timeout that nobody sets is unknown."""
    text = policy("pool: {max: 64, acquire_timeout: 1m}")
    text = text.replace("attempt_timeout: 500ms", "budget: 1s")
    assert lint_yaml(text, "BH004") == []
