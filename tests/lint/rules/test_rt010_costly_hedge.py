"""RT010: hedges that cost more than they promise."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("hedge", "keys"),
    [
        ("{delay: 200ms}", []),
        ("{delay: 40ms}", []),
        ("{delay: 39ms}", ["delay"]),
        ("{delay: 200ms, max_hedges: 2}", ["max_hedges"]),
        ("{delay: 200ms, budget: 5%}", []),
        ("{delay: 200ms, budget: 5.1%}", ["budget"]),
        ("{delay: 0s, max_hedges: 3, budget: 20%}", ["max_hedges", "budget", "delay"]),
    ],
)
def test_clauses(hedge: str, keys: list[str]) -> None:
    """One hedge at or over the median within 5 % is fine."""
    text = operation_yaml(
        f"{HEAD}facts: {{latency: {{p50: 40ms, p99: 300ms}}}}\nhedge: {hedge}"
    )
    found = sorted(
        d.policy_path.rpartition("hedge.")[2] for d in lint_yaml(text, "RT010")
    )
    assert found == sorted(keys)


def test_messages() -> None:
    """Each clause prints its numbers."""
    text = operation_yaml(
        f"{HEAD}facts: {{latency: {{p50: 40ms, p99: 300ms}}}}\n"
        "hedge: {delay: 10ms, max_hedges: 3, budget: 20%}"
    )
    assert sorted(d.message for d in lint_yaml(text, "RT010")) == [
        "delay 10ms < median latency 40ms: more than half of all calls ask for a hedge",
        "hedges may add 20% to the load, over 5%",
        "in a slowdown each call of payment_api.charge asks for 4 attempts at once",
    ]


@pytest.mark.missing_facts
def test_missing_latency_is_named() -> None:
    """The delay cannot be judged without the median."""
    result = run_yaml(operation_yaml(f"{HEAD}hedge: {{delay: 1ms}}"), "RT010")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "payment_api.operations.charge.facts.latency.p50"
    ]


@pytest.mark.boundary
def test_threshold_can_be_set() -> None:
    """A project may allow more extra load."""
    text = operation_yaml(f"{HEAD}hedge: {{delay: 1s, budget: 10%}}")
    assert lint_yaml(text, "RT010", thresholds={"RT010": {"extra_load": "10%"}}) == []
    (found,) = lint_yaml(text, "RT010", thresholds={"RT010": {"extra-load": "9.9%"}})
    assert found.message == "hedges may add 10% to the load, over 9.9%"


def test_hedge_of_a_preset_is_shown_there() -> None:
    """An inherited hedge is a related place."""
    preset = (
        "version: 1\npreset: eager\ndefaults:\n  hedge: {delay: 1s, max_hedges: 2}\n"
    )
    text = operation_yaml(HEAD, "extends: [eager]")
    (found,) = lint_yaml(text, "RT010", files={"eager.yaml": preset})
    assert str(found.related[0].span) == "eager.yaml:4:34"
