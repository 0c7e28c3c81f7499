"""FB002: fallbacks that fall over when they are needed."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    rates: tuple[str, ...] = ("500/s",),
    capacity: str = "facts: {capacity: 800/s}",
    own: str = "facts: {rate: 100/s}",
    limit: str = "",
) -> str:
    """Primaries with these rates fall back to quotes_b.get."""
    primaries = "".join(
        f"version: 1\nservice: a{i}\noperations:\n  get:\n    transport: http\n"
        f"    facts: {{rate: {rate}, callers: 4}}\n"
        "    fallback: {operation: quotes_b.get}\n---\n"
        for i, rate in enumerate(rates)
    )
    return (
        f"{primaries}version: 1\nservice: quotes_b\n{capacity}\noperations:\n  get:\n"
        f"    transport: http\n    {own}\n{limit}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rates", "severity"),
    [
        (("540/s",), None),
        (("541/s",), Severity.WARNING),
        (("699/s",), Severity.WARNING),
        (("700/s",), Severity.ERROR),
    ],
)
def test_boundaries(rates: tuple[str, ...], severity: Severity | None) -> None:
    """With 100/s of its own, 640/s are 80 % of 800/s."""
    found = lint_yaml(policy(rates), "FB002")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_all_primaries_together() -> None:
    """Two primaries of 400/s move 800/s; both are told."""
    found = lint_yaml(policy(("400/s", "400/s")), "FB002")
    assert [d.message for d in found] == [
        (
            "800/s of fallbacks + 100/s of its own = 900/s at quotes_b, 112.5% of its "
            "capacity 800/s"
        )
    ] * 2


def test_a_rate_limit_bounds_what_moves() -> None:
    """4 processes x 100/s instead of 5,000/s: 500/s of 800/s."""
    limit = "    rate_limit: {rate: 100/s}\n"
    assert lint_yaml(policy(("5000/s",), limit=limit), "FB002") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("300/s", 0), ("301/s", 1)])
def test_share_can_be_set(rate: str, count: int) -> None:
    """300/s and 100/s of its own are half of 800/s."""
    settings = {"FB002": {"share": "50%"}}
    found = lint_yaml(policy((rate,)), "FB002", thresholds=settings)
    assert len(found) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("limit", "count"),
    [
        ("{rate: 135/s}", 0),
        ("{rate: 136/s}", 1),
        ("{rate: 540/s, store: redis}", 0),
        ("{rate: 541/s, store: redis}", 1),
        ("{rate: 1/s, mode: observe}", 1),
    ],
)
def test_limits_of_the_fallback(limit: str, count: int) -> None:
    """4 processes x 135/s, or one limit of 540/s for all, make 640/s: 80 % of 800/s."""
    text = policy(("5000/s",), limit=f"    rate_limit: {limit}\n")
    text = text.replace("service: quotes_b", "service: quotes_b\nredis: {url_env: R}")
    assert len(lint_yaml(text, "FB002")) == count


@pytest.mark.missing_facts
def test_missing_facts_are_named() -> None:
    """Capacity of the fallback and rate of the primary are needed."""
    text = policy(capacity="owner: q").replace("rate: 500/s, ", "")
    result = run_yaml(text, "FB002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "a0.operations.get.facts.rate",
        "quotes_b.facts.capacity",
    ]


@pytest.mark.missing_facts
def test_what_a_lower_bound_lacks_is_named() -> None:
    """Of two primaries one is known; a third service calls the fallback itself."""
    text = policy(("500/s", "500/s"), own="description: rate not stated")
    text = text.replace("rate: 500/s, ", "", 1)
    text += (
        "---\nversion: 1\nservice: shop\noperations:\n"
        "  page: {transport: local, calls: [{to: quotes_b.get}]}\n"
    )
    result = run_yaml(text, "FB002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "a0.operations.get.facts.rate",
        "quotes_b.operations.get.facts.rate",
    ]


@pytest.mark.missing_facts
def test_a_limit_for_each_process_needs_their_number() -> None:
    """One process lets 100/s through, and how many there are is unknown."""
    text = policy(("5000/s",), limit="    rate_limit: {rate: 100/s}\n")
    result = run_yaml(text.replace(", callers: 4", ""), "FB002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "a0.operations.get.facts.callers"
    ]


CACHED = "facts: {capacity: 800/s, cache: {hit_ratio: 90%}}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rate", "severity"),
    [("6300/s", None), ("6301/s", Severity.WARNING), ("7900/s", Severity.ERROR)],
)
def test_a_cache_in_front_answers_its_share(
    rate: str, severity: Severity | None
) -> None:
    """One in ten misses: 6300/s + 100/s are 640/s, 7900/s + 100/s are 800/s."""
    found = lint_yaml(policy((rate,), CACHED), "FB002")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_message_behind_a_cache() -> None:
    """What arrives, what misses the cache, and its share of the capacity."""
    (found,) = lint_yaml(policy(("9900/s",), CACHED), "FB002")
    assert found.message == (
        "9900/s of fallbacks + 100/s of its own = 10000/s, with 90% hits 1000/s at "
        "quotes_b, 125% of its capacity 800/s"
    )
