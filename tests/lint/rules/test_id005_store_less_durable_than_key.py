"""ID005: idempotency keys in a store that forgets or does not share them."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(keys: str, facts: str = "facts: {callers: 8}") -> str:
    """An operation with these keys."""
    return operation_yaml(
        f"transport: http\nidempotency: {{key: [order_id], {keys}}}\n{facts}",
        "redis: {url_env: POLICY_REDIS_URL}",
    )


@pytest.mark.parametrize(
    ("keys", "holder"),
    [
        ("ttl: 24h", "memory is seen by one process"),
        ("ttl: 24h, store: sqlite, path: keys.db", "sqlite is seen by one host"),
        ("ttl: 24h, store: redis", None),
        ("ttl: 24h, forward: {header: Idempotency-Key}", None),
        ("ttl: 1m", None),
        ("ttl: 61s", "memory is seen by one process"),
    ],
)
def test_stores(keys: str, holder: str | None) -> None:
    """Only what all processes see, or the callee decides, keeps a long promise."""
    found = lint_yaml(policy(keys), "ID005")
    assert len(found) == (0 if holder is None else 1)
    if holder is not None:
        assert found[0].message.startswith(f"store {holder}, and 8 processes call")


@pytest.mark.boundary
@pytest.mark.parametrize(("ttl", "count"), [("1m", 0), ("60001ms", 1)])
def test_short_promises(ttl: str, count: int) -> None:
    """Keys of exactly a minute may be local, those of a millisecond more may not."""
    assert len(lint_yaml(policy(f"ttl: {ttl}"), "ID005")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("ttl", "count"), [("1h", 0), ("3600001ms", 1)])
def test_threshold_can_be_set(ttl: str, count: int) -> None:
    """A project may allow local keys of an hour."""
    found = lint_yaml(
        policy(f"ttl: {ttl}"), "ID005", thresholds={"ID005": {"shortest": "1h"}}
    )
    assert len(found) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("callers", "count"), [(1, 0), (2, 1)])
def test_one_process_keeps_its_own_keys(callers: int, count: int) -> None:
    """A single client process sees all of its keys."""
    text = policy("ttl: 24h", f"facts: {{callers: {callers}}}")
    assert len(lint_yaml(text, "ID005")) == count


@pytest.mark.missing_facts
def test_missing_callers_are_named() -> None:
    """Without the number of processes the rule is silent."""
    result = run_yaml(policy("ttl: 24h", ""), "ID005")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "payment_api.operations.charge.facts.callers"
    ]


@pytest.mark.missing_facts
def test_missing_instances_of_a_caller_with_its_own_keys() -> None:
    """The keys of an override live in the caller's processes, which must be counted."""
    shop = (
        "---\nversion: 1\nservice: shop\nowner: s\ncalls:\n"
        "  - to: payment_api.charge\n"
        "    override: {idempotency: {key: [order_id], ttl: 24h}}\n"
    )
    text = operation_yaml("transport: http") + shop
    result = run_yaml(text, "ID005")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["shop.facts.instances"]
    counted = text.replace("owner: s\n", "owner: s\nfacts: {instances: 2}\n")
    (found,) = lint_yaml(counted, "ID005")
    assert found.message == (
        "store memory is seen by one process, and 2 processes call payment_api.charge: "
        "for a ttl of 1d duplicates in other processes go unnoticed"
    )


def test_store_of_a_preset_is_shown_there() -> None:
    """An inherited store is a related place."""
    preset = (
        "version: 1\npreset: keyed\ndefaults:\n"
        "  idempotency: {key: [order_id], store: memory}\n"
    )
    text = operation_yaml("transport: http\nfacts: {callers: 8}", "extends: [keyed]")
    (found,) = lint_yaml(text, "ID005", files={"keyed.yaml": preset})
    assert str(found.related[0].span) == "keyed.yaml:4:41"
