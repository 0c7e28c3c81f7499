"""BH004: connection pools that queue behind a bulkhead."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml


def policy(pool: str, bulkhead: str = "bulkhead: {max_concurrent: 64}") -> str:
    """shop, with this pool, queries price_db."""
    return (
        f"version: 1\nservice: shop\nowner: s\nfacts: {{{pool}}}\n"
        "calls: [{to: price_db.query}]\n---\nversion: 1\nservice: price_db\nowner: p\n"
        "operations:\n  query:\n    transport: sql\n    attempt_timeout: 500ms\n"
        f"    {bulkhead}\n"
    )


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ("pool: {max: 64, acquire_timeout: 100ms}", None),
        (
            "pool: {max: 63, acquire_timeout: 100ms}",
            (
                "pool of 63 connections < bulkhead of 64 slots: 1 calls that have a slot wait "
                "for a connection (calls to price_db.query)"
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
    """As many connections as slots, and a fifth of the timeout, are fine."""
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
