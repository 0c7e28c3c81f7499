"""CB012: circuits of a fleet that all probe at the same instant."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(
    recovery: str = "{initial: 5s, jitter: 0%}",
    callers: str = "{callers: 40}",
    capacity: str = "facts: {capacity: 300/s}",
    more: str = "",
) -> str:
    """An operation whose circuits stay open this long."""
    return operation_yaml(
        f"transport: http\nfacts: {callers}\n"
        f"circuit_breaker: {{recovery_timeout: {recovery}{more}}}",
        capacity,
    )


def test_message() -> None:
    """40 probes against 300 attempts/s are 13.33 %."""
    (found,) = lint_yaml(policy(), "CB012")
    assert found.message == (
        "40 processes that opened together send 40 probes at once every 5s, 13.33% of "
        "what payment_api serves in a second"
    )


@pytest.mark.parametrize(
    ("callers", "capacity", "count"),
    [(10, "100/s", 0), (11, "100/s", 1), (20, "400/s", 0), (21, "400/s", 1)],
)
def test_boundaries(callers: int, capacity: str, count: int) -> None:
    """Ten processes, and 5 % of a second's capacity, are allowed."""
    text = policy(
        callers=f"{{callers: {callers}}}", capacity=f"facts: {{capacity: {capacity}}}"
    )
    assert len(lint_yaml(text, "CB012")) == count


@pytest.mark.parametrize(
    "recovery",
    [
        "5s",
        "{initial: 5s, jitter: 1%}",
        "{initial: 5s, multiplier: 2, max: 1m, jitter: 0%}",
    ],
)
def test_jitter_or_growth_is_enough(recovery: str) -> None:
    """The default has jitter, and a growing break drifts apart."""
    assert lint_yaml(policy(recovery), "CB012") == []


def test_probes_in_flight_multiply() -> None:
    """Three probes of each process are 120."""
    (found,) = lint_yaml(policy(more=", half_open_max_calls: 3"), "CB012")
    assert "send 120 probes at once" in found.message


def test_missing_facts_are_named() -> None:
    """Capacity and callers are needed."""
    result = run_yaml(policy(callers="{rate: 1/s}", capacity=""), "CB012")
    assert [s.fact.removeprefix("payment_api.") for s in result.coverage.skipped] == [
        "facts.capacity",
        "operations.charge.facts.callers",
    ]
