"""CB003: circuits that open when the caller's workers are gone."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    attempt: str = "10s",
    breaker: str = "{failure_threshold: 5}",
    facts: str = "workers: 100",
    more: str = "",
    rate: str = "50/s",
) -> str:
    """shop calls price_api.get_price with one process."""
    return f"""\
version: 1
service: shop
owner: shop-team
facts: {{instances: 1, {facts}}}
operations:
  page:
    transport: local
    facts: {{rate: {rate}}}
    calls: [{{to: price_api.get_price}}]
---
version: 1
service: price_api
owner: price-team
operations:
  get_price:
    transport: http
    attempt_timeout: {attempt}
    circuit_breaker: {breaker}
    {more}
"""


def test_message_and_place() -> None:
    """10 s + 5 / 50 per second = 10.1 s, and 100 workers last 2 s."""
    (found,) = lint_yaml(policy(), "CB003")
    assert found.message == (
        "price_api.get_price hangs for 10s and 5 calls at 50/s until its circuit opens: "
        "10.1s, but the 100 workers of shop are gone after 2s"
    )
    assert found.span.line == 9
    assert found.related[0].span.line == 17


@pytest.mark.parametrize(("attempt", "count"), [("1900ms", 0), ("1901ms", 1)])
def test_boundary(attempt: str, count: int) -> None:
    """1.9 s + 0.1 s are just the 2 s that the workers last."""
    assert len(lint_yaml(policy(attempt), "CB003")) == count


@pytest.mark.parametrize(
    ("breaker", "count"),
    [
        ("{failure_ratio: 50%, minimum_calls: 20}", 0),
        ("{failure_ratio: 50%, minimum_calls: 76}", 1),
        ("{failure_threshold: 5, failure_ratio: 50%, minimum_calls: 76}", 0),
        ("{failure_threshold: 100, mode: observe}", 0),
    ],
)
def test_calls_that_the_breaker_needs(breaker: str, count: int) -> None:
    """0.5 s + 76 / 50 per second = 2.02 s; the quicker of two rules counts."""
    assert len(lint_yaml(policy("500ms", breaker), "CB003")) == count


@pytest.mark.parametrize(("slots", "count"), [(99, 0), (100, 1)])
def test_a_bulkhead_smaller_than_the_workers_protects(slots: int, count: int) -> None:
    """A bulkhead as large as the workers is none."""
    text = policy(more=f"bulkhead: {{max_concurrent: {slots}}}")
    assert len(lint_yaml(text, "CB003")) == count


@pytest.mark.parametrize(("objective", "count"), [("10100ms", 0), ("10s", 1)])
def test_objective_of_the_caller(objective: str, count: int) -> None:
    """Behind a bulkhead the caller's objective is what is left to break."""
    text = policy(
        facts=f"workers: 100, objective: {objective}",
        more="bulkhead: {max_concurrent: 10}",
    )
    found = lint_yaml(text, "CB003")
    assert len(found) == count
    if found:
        assert found[0].message.endswith("10.1s, over the objective 10s of shop")


def test_missing_facts_are_named() -> None:
    """Workers first, then the rate."""
    result = run_yaml(policy(facts="domain: a"), "CB003")
    assert [s.fact for s in result.coverage.skipped] == ["shop.facts.workers"]
    text = policy().replace("    facts: {rate: 50/s}\n", "")
    result = run_yaml(text, "CB003")
    assert [s.fact for s in result.coverage.skipped] == [
        "shop.operations.page.facts.rate"
    ]
