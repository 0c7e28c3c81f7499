"""RT007: retry budgets that leave no headroom."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\nattempt_timeout: 500ms\n"


def policy(
    budget: str,
    rate: str = "280/s",
    capacity: str | None = "300/s",
    callers: str = ", callers: 6",
) -> str:
    """An operation with this retry budget."""
    service = "" if capacity is None else f"facts: {{capacity: {capacity}}}"
    return operation_yaml(
        f"{HEAD}facts: {{rate: {rate}{callers}}}\nretry: {{budget: {budget}}}", service
    )


def test_the_example_of_the_catalogue() -> None:
    """280/s x 1.1 = 308/s against 300/s; half of the headroom is 3.5 %."""
    (found,) = lint_yaml(policy("{ratio: 10%, refill: request, floor: 0/s}"), "RT007")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "280/s with retries of 10% = 308/s >= capacity 300/s: "
        "while all calls fail, first tries keep paying for retries"
    )
    assert found.help == "set refill: success or ratio: 3.5%"
    assert found.policy_path.endswith("retry.budget.refill")


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("250/s", 1), ("249.9/s", 0)])
def test_exactly_the_capacity_is_reported(rate: str, count: int) -> None:
    """250/s x 1.2 = 300/s reach the capacity."""
    text = policy("{ratio: 20%, refill: request, floor: 0/s}", rate)
    errors = [d for d in lint_yaml(text, "RT007") if d.severity is Severity.ERROR]
    assert len(errors) == count


def test_floors_of_all_processes_count() -> None:
    """6 processes x 2/s of floor on 240/s are 5 % more: 240 x 1.25 = 300/s."""
    text = policy("{ratio: 20%, refill: request, floor: 2/s}", "240/s")
    (found,) = lint_yaml(text, "RT007")
    assert found.message.startswith("240/s with retries of 25% = 300/s")


def test_refill_on_success_stops_in_an_outage() -> None:
    """While everything fails only the floor is left, so capacity is not reached."""
    text = policy("{ratio: 50%, refill: success, floor: 0/s}", "200/s")
    assert lint_yaml(text, "RT007") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("248.3/s", 0), ("248.4/s", 1)])
def test_boundary_of_slow_recovery(rate: str, count: int) -> None:
    """(1.1 lam 30 - 150) / (300 - 1.1 lam) is over 300 s from lam = 248.35/s on."""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", rate)
    assert len(lint_yaml(text, "RT007")) == count


def test_slow_recovery_is_a_warning() -> None:
    """1.1 x 254.5 = 280/s: (280 x 30 - 300 x 0.5) / 20 = 412 s."""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", "254.5/s")
    (found,) = lint_yaml(text, "RT007")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "254.5/s become 280/s of 300/s: recovery from an outage of 30s takes about 6m51s"
    )
    assert found.help == "set refill: success or ratio: 8.9%"


@pytest.mark.parametrize(
    ("rate", "floor", "count"),
    [("280/s", "0/s", 0), ("260/s", "0/s", 0), ("260/s", "3/s", 1)],
)
def test_refill_on_success_is_blamed_for_its_floors_alone(
    rate: str, floor: str, count: int
) -> None:
    """At 280/s recovery is slow without retries; at 260/s only 6 x 3/s make it so."""
    text = policy(f"{{ratio: 10%, refill: success, floor: {floor}}}", rate)
    assert len(lint_yaml(text, "RT007")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rate", "floor", "count"),
    [
        ("260/s", "2.1/s", 0),
        ("260/s", "2.2/s", 1),
        ("273.1/s", "1/s", 1),
        ("273.2/s", "1/s", 0),
    ],
)
def test_boundaries_of_floors_that_delay_recovery(
    rate: str, floor: str, count: int
) -> None:
    """Recovery takes over 300 s from (30 x - 150) / (300 - x), so x = 273.18/s, on.

    260 + 6 x 2.1 = 272.6 and 260 + 6 x 2.2 = 273.2; at 273.2/s it does without floors.
    """
    text = policy(f"{{ratio: 10%, refill: success, floor: {floor}}}", rate)
    assert len(lint_yaml(text, "RT007")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rate", "help", "fixed"),
    [
        ("250/s", "set refill: success", True),
        ("251/s", "set refill: success or ratio: 9.7%", True),
        ("299/s", "set refill: success or ratio: 0.1%", True),
        ("300/s", "add capacity: first tries alone use all of it", False),
    ],
)
def test_advice_for_budgets_that_first_tries_refill(
    rate: str, help: str, fixed: bool
) -> None:
    """Half of the headroom: 0.5 x (300 / 250 - 1) = 10 %, the ratio itself; 9.76 %; …"""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", rate)
    (found,) = lint_yaml(text, "RT007")
    assert found.help == help
    assert (found.fix is not None) is fixed


@pytest.mark.boundary
@pytest.mark.parametrize(("attempts", "count"), [(1, 0), (2, 1)])
def test_a_single_attempt_needs_no_budget(attempts: int, count: int) -> None:
    """At capacity without retries, no retry budget is to blame."""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", "300/s")
    text = text.replace("retry: {", f"retry: {{max_attempts: {attempts}, ")
    assert len(lint_yaml(text, "RT007")) == count


def test_floors_of_another_operation() -> None:
    """charge's own floor grants nothing; refund's 6 x 3/s make recovery slow for both."""
    refund = (
        "  refund:\n    transport: http\n    idempotent: true\n"
        "    facts: {rate: 1/s, callers: 6}\n    attempt_timeout: 500ms\n"
        "    retry: {max_attempts: 30, budget: {ratio: 10%, floor: 3/s}}\n"
    )
    text = policy("{ratio: 10%, refill: success, floor: 0/s}", "260/s") + refund
    charge, other = lint_yaml(text, "RT007")
    assert charge.message.startswith("261/s become 279/s of 300/s")
    assert charge.help == ("lower the floors of the other retry budgets of this callee")
    assert other.help == (
        "lower floor: 6 processes x 3/s = 18/s of retries in any outage"
    )


def test_floors_are_what_to_lower() -> None:
    """6 x 3/s on 260/s are 278/s: (278 x 30 - 150) / 22 = 372.3 s."""
    text = policy("{ratio: 10%, refill: success, floor: 3/s}", "260/s")
    (found,) = lint_yaml(text, "RT007")
    assert found.message == (
        "260/s become 278/s of 300/s: recovery from an outage of 30s takes about 6m12s"
    )
    assert found.help == (
        "lower floor: 6 processes x 3/s = 18/s of retries in any outage"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("recovery", "count"), [("412s", 0), ("411s", 1)])
def test_recovery_can_be_set(recovery: str, count: int) -> None:
    """254.5/s x 1.1 = 279.95/s: (279.95 x 30 - 150) / 20.05 = 411.4 s."""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", "254.5/s")
    thresholds = {"RT007": {"recovery": recovery}}
    assert len(lint_yaml(text, "RT007", thresholds=thresholds)) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "rate", "recovery", "count"),
    [
        ("{ratio: 25%, refill: request, floor: 0/s}", "160/s", "58500ms", 0),
        ("{ratio: 25%, refill: request, floor: 0/s}", "160/s", "58499ms", 1),
        ("{ratio: 25%, refill: success, floor: 1/s}", "200/s", "58500ms", 1),
        ("{ratio: 25%, refill: success, floor: 1/s}", "200/s", "58499ms", 0),
    ],
)
def test_recovery_of_exactly_what_is_allowed(
    budget: str, rate: str, recovery: str, count: int
) -> None:
    """200/s attempts: (200 x 30 - 150) / 100 = 58.5 s, which is allowed.

    With refill on success, 200/s alone need as long, so 6 x 1/s of floors are to blame;
    where 58.499 s are allowed it is slow without any retry.
    """
    thresholds = {"RT007": {"recovery": recovery}}
    assert len(lint_yaml(policy(budget, rate), "RT007", thresholds=thresholds)) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("227.6/s", 0), ("227.7/s", 1)])
def test_outage_can_be_set(rate: str, count: int) -> None:
    """(1.1 lam 60 - 150) / (300 - 1.1 lam) is over 300 s from lam = 227.65/s on."""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", rate)
    thresholds = {"RT007": {"outage": "1m"}}
    assert len(lint_yaml(text, "RT007", thresholds=thresholds)) == count


FACTS = "payment_api.operations.charge.facts."


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("text", "absent"),
    [
        (
            policy("{ratio: 1%, refill: request}", capacity=None),
            ["payment_api.facts.capacity"],
        ),
        (
            policy("{ratio: 1%, refill: request}", "10/s", callers=""),
            [f"{FACTS}callers"],
        ),
        (
            operation_yaml(
                f"{HEAD}facts: {{callers: 6}}\nretry: {{budget: {{ratio: 1%}}}}",
                "facts: {capacity: 300/s}",
            ),
            [f"{FACTS}rate"],
        ),
    ],
)
def test_missing_facts_are_named(text: str, absent: list[str]) -> None:
    """Capacity and rate first; callers for the floors."""
    result = run_yaml(text, "RT007")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == absent


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        ("budget: 500ms", 1),
        ("budget: {inherit: true}", 0),
        ("attempt_timeout: 500ms", 1),
    ],
)
def test_calls_that_nothing_ends_recover_at_once(limit: str, count: int) -> None:
    """A call that waits for ever gets its answer from the backlog; a budget ends it too."""
    text = policy("{ratio: 10%, refill: request, floor: 0/s}", "254.5/s")
    text = text.replace("attempt_timeout: 500ms", limit)
    assert len(lint_yaml(text, "RT007")) == count


def test_budget_of_a_preset_is_shown_there() -> None:
    """An inherited budget is a related place."""
    preset = (
        "version: 1\npreset: generous\ndefaults:\n"
        "  retry: {budget: {ratio: 20%, refill: request}}\n"
    )
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 280/s, callers: 6}}",
        "extends: [generous]\nfacts: {capacity: 300/s}",
    )
    (found,) = lint_yaml(text, "RT007", files={"generous.yaml": preset})
    assert str(found.related[0].span) == "generous.yaml:4:40"
