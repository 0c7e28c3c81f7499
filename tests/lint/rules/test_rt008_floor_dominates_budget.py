"""RT008: retry budgets whose floor or burst is the real limit."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\nattempt_timeout: 1s\n"


def policy(
    budget: str,
    facts: str = "{rate: 2000/s, callers: 300}",
    capacity: str | None = None,
) -> str:
    """An operation with this retry budget."""
    service = "" if capacity is None else f"facts: {{capacity: {capacity}}}"
    return operation_yaml(f"{HEAD}facts: {facts}\nretry: {{budget: {budget}}}", service)


def test_the_example_of_the_catalogue() -> None:
    """300 x 10/s = 3000/s against 20 % of 2000/s = 400/s; 1/s of each is enough."""
    (found,) = lint_yaml(policy("{ratio: 20%, floor: 10/s}"), "RT008")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "300 processes x floor 10/s = 3000/s of retries > 20% of 2000/s = 400/s"
    )
    assert found.help == "set floor: 1/s or less"
    assert found.policy_path.endswith("retry.budget.floor")


@pytest.mark.boundary
@pytest.mark.parametrize(("floor", "count"), [("2/s", 0), ("121/m", 1)])
def test_equality_is_fine(floor: str, count: int) -> None:
    """10 processes x 2/s are just 20 % of 100/s."""
    text = policy(f"{{ratio: 20%, floor: {floor}}}", "{rate: 100/s, callers: 10}")
    assert len(lint_yaml(text, "RT008")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("capacity", "severity"),
    [("130/s", Severity.ERROR), ("130.1/s", Severity.WARNING)],
)
def test_floors_that_reach_the_capacity(capacity: str, severity: Severity) -> None:
    """100/s and 10 x 3/s of floors are 130/s."""
    text = policy(
        "{ratio: 10%, floor: 3/s, burst: 1}", "{rate: 100/s, callers: 10}", capacity
    )
    (found,) = lint_yaml(text, "RT008")
    assert found.severity is severity


@pytest.mark.boundary
@pytest.mark.parametrize(("burst", "count"), [(30, 0), (31, 1)])
def test_bursts_against_one_timeout_of_work(burst: int, count: int) -> None:
    """10 processes x 30 are just the 300 attempts that are served within 1 s."""
    text = policy(
        f"{{ratio: 10%, floor: 0/s, burst: {burst}}}",
        "{rate: 100/s, callers: 10}",
        "300/s",
    )
    found = lint_yaml(text, "RT008")
    assert [d.message for d in found] == [
        (
            "10 processes x burst 31 = 310 retries at once, more than the 300 attempts "
            "that payment_api serves within attempt_timeout"
        )
    ] * count
    if found:
        assert found[0].help == "set burst: 30"


@pytest.mark.parametrize(
    ("rate", "callers", "floor"),
    [("60/s", 100, "1/m"), ("600/s", 10, "3/s"), ("20/h", 1, "1/h")],
)
def test_the_advice_rounds_down(rate: str, callers: int, floor: str) -> None:
    """5 % of 0.6/s is 0.03/s or 1.8/m; 5 % of 60/s is 3/s; 5 % of 20/h is 1/h."""
    text = policy("{ratio: 5%, floor: 10/s}", f"{{rate: {rate}, callers: {callers}}}")
    (found,) = lint_yaml(text, "RT008")
    assert found.help == f"set floor: {floor} or less"


@pytest.mark.boundary
def test_where_one_per_hour_is_too_much_there_is_no_floor() -> None:
    """5 % of 19/h is 0.95/h: a floor of 1/h is over it, and only none ends the finding."""
    facts = "{rate: 19/h, callers: 1}"
    (found,) = lint_yaml(policy("{ratio: 5%, floor: 1/h}", facts), "RT008")
    assert found.help == "set floor: off, since even 1/h of each process is more"
    assert found.fix is not None
    assert [edit.text for edit in found.fix.edits] == ["off"]
    assert lint_yaml(policy("{ratio: 5%, floor: off}", facts), "RT008") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("attempts", "count"), [(1, 0), (2, 1)])
def test_a_single_attempt_has_no_retries(attempts: int, count: int) -> None:
    """Floors of a budget that nothing draws on do no harm."""
    text = policy("{ratio: 20%, floor: 10/s}")
    text = text.replace("retry: {", f"retry: {{max_attempts: {attempts}, ")
    assert len(lint_yaml(text, "RT008")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("capacity", "burst"), [("9/s", 1), ("19.9/s", 1), ("20/s", 2)]
)
def test_the_advised_burst_is_the_share_of_one_process(
    capacity: str, burst: int
) -> None:
    """Of the attempts served within 1 s, each of 10 processes has a tenth, but one."""
    text = policy(
        "{ratio: 10%, floor: 0/s, burst: 9}", "{rate: 100/s, callers: 10}", capacity
    )
    (found,) = lint_yaml(text, "RT008")
    assert found.help == f"set burst: {burst}"


def test_the_advised_burst_is_not_lost_to_rounding() -> None:
    """0.57 s of 100/s are 57 attempts for one process, not the 56.99… of floats."""
    text = policy(
        "{ratio: 10%, floor: 0/s, burst: 58}", "{rate: 100/s, callers: 1}", "100/s"
    ).replace("attempt_timeout: 1s", "attempt_timeout: 570ms")
    (found,) = lint_yaml(text, "RT008")
    assert found.help == "set burst: 57"


FACTS = "payment_api.operations.charge.facts."


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "capacity", "absent"),
    [
        ("{callers: 3}", "300/s", [f"{FACTS}rate"]),
        ("{rate: 2000/s}", "300/s", [f"{FACTS}callers"]),
        ("{latency: {p50: 1s}}", None, [f"{FACTS}callers", f"{FACTS}rate"]),
        ("{rate: 2000/s, callers: 3}", None, ["payment_api.facts.capacity"]),
    ],
)
def test_missing_facts_are_named(
    facts: str, capacity: str | None, absent: list[str]
) -> None:
    """Rate and callers for the floor, capacity for the burst."""
    result = run_yaml(policy("{ratio: 20%, floor: 1/s}", facts, capacity), "RT008")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == absent


@pytest.mark.missing_facts
def test_capacity_decides_how_bad_floors_are() -> None:
    """Without a timeout the burst is not measured, so only large floors ask for it."""
    large = policy("{ratio: 20%, floor: 10/s}").replace("attempt_timeout: 1s\n    ", "")
    result = run_yaml(large, "RT008")
    assert [d.severity for d in result.diagnostics] == [Severity.WARNING]
    assert [s.fact for s in result.coverage.skipped] == ["payment_api.facts.capacity"]
    small = run_yaml(large.replace("10/s", "1/s"), "RT008")
    assert (small.diagnostics, small.coverage.skipped) == ((), ())


def test_floor_of_a_preset_is_shown_there() -> None:
    """An inherited floor is a related place."""
    preset = "version: 1\npreset: high\ndefaults:\n  retry: {budget: {floor: 10/s}}\n"
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 2000/s, callers: 300}}", "extends: [high]"
    )
    (found,) = lint_yaml(text, "RT008", files={"high.yaml": preset})
    assert str(found.related[0].span) == "high.yaml:4:27"


@pytest.mark.boundary
@pytest.mark.parametrize(("burst", "count"), [(1, 0), (2, 1)])
def test_the_smallest_burst_is_not_reported(burst: int, count: int) -> None:
    """10 processes x 1 are over the 9 attempts served within 1 s, but none is smaller."""
    text = policy(
        f"{{ratio: 10%, floor: 0/s, burst: {burst}}}",
        "{rate: 100/s, callers: 10}",
        "9/s",
    )
    assert len(lint_yaml(text, "RT008")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "capacity", "severity"),
    [
        ("{ratio: 10%}", "100/s", Severity.INFO),
        ("{ratio: 10%, floor: 6/m}", "100/s", Severity.WARNING),
        ("{ratio: 10%}", "13/m", Severity.ERROR),
        ("{ratio: 10%}", "14/m", Severity.INFO),
    ],
)
def test_the_default_floor_is_meant_for_little_traffic(
    budget: str, capacity: str, severity: Severity
) -> None:
    """1/m and floors of 2 x 6/m are 13/m."""
    found = lint_yaml(policy(budget, "{rate: 1/m, callers: 2}", capacity), "RT008")
    (floor,) = [d for d in found if "floor" in d.message]
    assert floor.severity is severity
    assert floor.message.startswith(
        "2 processes x floor 6/m = 12/m of retries > 10% of 1/m = 6/h"
    )
