"""BH003: bulkheads that together isolate nothing."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(sizes: list[int], workers: str = "workers: 100", more: str = "") -> str:
    """shop calls one operation for each size."""
    calls = ", ".join(f"{{to: price_api.op{i}}}" for i in range(len(sizes)))
    operations = "".join(
        f"  op{i}: {{transport: http, bulkhead: {{max_concurrent: {size}{more}}}}}\n"
        for i, size in enumerate(sizes)
    )
    return (
        f"version: 1\nservice: shop\nowner: s\nfacts: {{instances: 1, {workers}}}\n"
        f"calls: [{calls}]\n---\nversion: 1\nservice: price_api\nowner: p\n"
        f"operations:\n{operations}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([40, 30, 20], None),
        ([40, 30, 30], None),
        (
            [40, 30, 31],
            "101 slots of 3 bulkheads are more than 100 of the 100 workers of shop",
        ),
        ([99], None),
        (
            [100],
            (
                "the bulkhead of price_api.op0 has 100 slots and shop has 100 workers: "
                "it isolates nothing"
            ),
        ),
    ],
)
def test_slots_against_workers(sizes: list[int], message: str | None) -> None:
    """40 + 30 + 30 slots fill 100 workers; one bulkhead of 100 leaves none free."""
    found = lint_yaml(policy(sizes), "BH003")
    assert [d.message for d in found] == ([] if message is None else [message])
    if found:
        assert found[0].policy_path == "shop.facts.workers"


@pytest.mark.boundary
def test_settings() -> None:
    """91 slots and 9 in reserve fill 100 workers; 150 slots are 1.5 for each of them."""
    text = policy([50, 41])
    assert lint_yaml(text, "BH003", thresholds={"BH003": {"reserve": 9}}) == []
    assert len(lint_yaml(text, "BH003", thresholds={"BH003": {"reserve": 10}})) == 1
    (single,) = lint_yaml(policy([91]), "BH003", thresholds={"BH003": {"reserve": 10}})
    assert single.message == (
        "91 slots of 1 bulkhead are more than 90 of the 100 workers of shop"
    )
    large = policy([75, 75])
    assert lint_yaml(large, "BH003", thresholds={"BH003": {"overcommit": 1.5}}) == []
    larger = policy([75, 76])
    (found,) = lint_yaml(larger, "BH003", thresholds={"BH003": {"overcommit": 1.5}})
    assert found.message.startswith("151 slots of 2 bulkheads are more than 150 of")


@pytest.mark.boundary
@pytest.mark.parametrize(("workers", "count"), [(1, 0), (2, 1)])
def test_a_single_worker_cannot_be_isolated(workers: int, count: int) -> None:
    """Two slots for two workers are one too many; one worker has no slot to spare."""
    found = lint_yaml(policy([2], f"workers: {workers}"), "BH003")
    assert len(found) == count


def test_shared_and_idle_bulkheads() -> None:
    """A bulkhead of a whole service counts once; one that does not enforce never."""
    assert lint_yaml(policy([60, 60], more=", scope: service"), "BH003") == []
    assert lint_yaml(policy([200], more=", mode: observe"), "BH003") == []


@pytest.mark.missing_facts
def test_missing_workers_are_named() -> None:
    """Without workers of either side the rule is silent."""
    result = run_yaml(policy([500], "domain: a"), "BH003")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "price_api.facts.instances",
        "price_api.facts.workers",
        "shop.facts.workers",
    ]


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("callers", "service", "lacking"),
    [
        ("callers: 11", "workers: 50", ["facts.instances"]),
        ("callers: 11", "instances: 4", ["facts.workers"]),
        ("rate: 1/s", "workers: 50, instances: 4", ["operations.charge.facts.callers"]),
    ],
)
def test_missing_facts_of_the_fleet_are_named(
    callers: str, service: str, lacking: list[str]
) -> None:
    """Processes of both sides and the callee's workers are needed."""
    text = operation_yaml(
        f"transport: http\nfacts: {{{callers}}}\nbulkhead: {{max_concurrent: 20}}",
        f"facts: {{{service}}}",
    )
    result = run_yaml(text, "BH003")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        f"payment_api.{fact}" for fact in lacking
    ]


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("callers", "inbound", "count"),
    [
        (10, "", 0),
        (11, "", 1),
        (11, "\ninbound: {bulkhead: {max_concurrent: 20}}", 0),
        (11, "\ninbound: {bulkhead: {max_concurrent: 20, mode: observe}}", 1),
        (11, "\ninbound: {rate_limit: {rate: 9/s}}", 0),
    ],
)
def test_fleet_against_the_callee(callers: int, inbound: str, count: int) -> None:
    """10 x 20 slots are just the 4 x 50 workers of a callee without a limit."""
    text = operation_yaml(
        f"transport: http\nfacts: {{callers: {callers}}}\nbulkhead: {{max_concurrent: 20}}",
        f"facts: {{workers: 50, instances: 4}}{inbound}",
    )
    found = lint_yaml(text, "BH003")
    assert [d.message for d in found] == [
        (
            "11 processes x 20 slots = 220 calls, more than the 200 workers of payment_api, "
            "which has no inbound limit"
        )
    ] * count
    if found:
        assert found[0].help == (
            "set max_concurrent: 18, or give payment_api an inbound bulkhead"
        )
