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


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("callers", "capacity", "count"),
    [(10, "100/s", 0), (11, "100/s", 1), (20, "400/s", 0), (21, "400/s", 1)],
)
def test_boundaries(callers: int, capacity: str, count: int) -> None:
    """Ten processes, and 20 probes of 400/s, 5 %, are allowed."""
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


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"callers": 40}, 0),
        ({"callers": 39}, 1),
        ({"share": 0.1}, 0),
        ({"share": 0.099}, 1),
    ],
)
def test_thresholds_can_be_set(settings: dict[str, float], count: int) -> None:
    """40 processes with a probe each are 10 % of 400/s."""
    text = policy(capacity="facts: {capacity: 400/s}")
    found = lint_yaml(text, "CB012", thresholds={"CB012": settings})
    assert len(found) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("most", "count"), [("5s", 1), ("5001ms", 0)])
def test_growth_needs_room(most: str, count: int) -> None:
    """A break of 5 s that may be 5 s at most never grows."""
    recovery = f"{{initial: 5s, multiplier: 2, max: {most}, jitter: 0%}}"
    assert len(lint_yaml(policy(recovery), "CB012")) == count


def test_a_circuit_in_redis_probes_once() -> None:
    """The whole fleet shares its permits, so there is no wave."""
    text = policy(more=", store: redis")
    text = text.replace("owner:", "redis: {url_env: POLICY_REDIS_URL}\nowner:")
    assert lint_yaml(text, "CB012") == []


def test_probes_in_flight_multiply() -> None:
    """Three probes of each process are 120."""
    (found,) = lint_yaml(policy(more=", half_open_max_calls: 3"), "CB012")
    assert "send 120 probes at once" in found.message


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("callers", "capacity", "lacking"),
    [
        ("{rate: 1/s}", "", ["facts.capacity", "operations.charge.facts.callers"]),
        ("{callers: 40}", "", ["facts.capacity"]),
        ("{rate: 1/s}", "facts: {capacity: 1/s}", ["operations.charge.facts.callers"]),
        ("{callers: 10}", "", []),
    ],
)
def test_missing_facts_are_named(
    callers: str, capacity: str, lacking: list[str]
) -> None:
    """Capacity and callers are needed, but nothing more for ten processes."""
    result = run_yaml(policy(callers=callers, capacity=capacity), "CB012")
    assert result.diagnostics == ()
    assert [s.fact.removeprefix("payment_api.") for s in result.coverage.skipped] == (
        lacking
    )
