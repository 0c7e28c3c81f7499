"""RT006: retries that can keep an overloaded callee overloaded."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(
    attempts: int | str = 2,
    facts: str = "{rate: 200/s, callers: 8}",
    capacity: str | None = "300/s",
    budget: str = "",
) -> str:
    """An operation and the capacity of its service."""
    share = f", budget: {budget}" if budget else ""
    service = "" if capacity is None else f"facts: {{capacity: {capacity}}}"
    return operation_yaml(
        f"{HEAD}facts: {facts}\nretry: {{max_attempts: {attempts}{share}}}", service
    )


def test_the_example_of_the_catalogue() -> None:
    """200/s x 2 = 400/s against 300/s; with 10 % it is 0.667 x 1.1 = 0.7333."""
    (found,) = lint_yaml(policy(), "RT006")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "200/s x 2 attempts = 400/s >= capacity 300/s of payment_api: "
        "once overloaded, retries keep it overloaded"
    )
    assert found.help == (
        "add budget: {ratio: 10%, refill: success, floor: 1/s} to retry, "
        "so that at most 0.6667 x 1.1 = 0.7333 of capacity are used"
    )
    assert found.span.line == 10


@pytest.mark.parametrize(
    ("facts", "help"),
    [
        (
            "{rate: 200/s, callers: 20}",
            (
                "add budget: {ratio: 10%, refill: success, floor: 1/s} to retry, "
                "so that at most 0.6667 x 1.1 = 0.7333 of capacity are used"
            ),
        ),
        (
            "{rate: 200/s, callers: 21}",
            (
                "add budget: {ratio: 10%, refill: success, floor: 57/m} to retry, "
                "so that at most 0.6667 x 1.1 = 0.7333 of capacity are used"
            ),
        ),
        (
            "{rate: 200/s}",
            "add budget: {ratio: 10%, refill: success, floor: 1/s} to retry",
        ),
    ],
)
def test_the_advised_floor_keeps_to_the_ratio(facts: str, help: str) -> None:
    """20 floors of 1/s are just 10 % of 200/s; 20/s over 21 processes are 57.1/m each."""
    (found,) = lint_yaml(policy(facts=facts), "RT006")
    assert found.help == help


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("400/s", 1), ("400.1/s", 0)])
def test_boundary(capacity: str, count: int) -> None:
    """Exactly the capacity is vulnerable."""
    assert len(lint_yaml(policy(capacity=capacity), "RT006")) == count


def test_a_budget_or_a_single_attempt_is_enough() -> None:
    """The rule asks for a budget, not for a good one."""
    budgeted = policy(capacity="200/s", budget="{ratio: 50%}")
    assert lint_yaml(budgeted, "RT006") == []
    assert lint_yaml(policy(attempts=1, capacity="200/s"), "RT006") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("capacity", "calm"),
    [
        ("220/s", ""),
        ("221/s", ", so that at most 0.905 x 1.1 = 0.9955 of capacity are used"),
    ],
)
def test_a_budget_that_is_not_enough_promises_nothing(capacity: str, calm: str) -> None:
    """200/s x 1.1 are just 220/s: all of the capacity, with nothing left."""
    (found,) = lint_yaml(policy(capacity=capacity), "RT006")
    assert found.help == (
        f"add budget: {{ratio: 10%, refill: success, floor: 1/s}} to retry{calm}"
    )


@pytest.mark.missing_facts
def test_the_rate_of_a_second_operation_is_missing() -> None:
    """What is known stays below the capacity; what is not may reach it."""
    text = policy(capacity="401/s") + "  refund: {transport: http}\n"
    result = run_yaml(text, "RT006")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "payment_api.operations.refund.facts.rate"
    ]


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "callers", "count"), [(3, 10, 1), (2, 10, 0), (3, 9, 0)]
)
def test_unknown_capacity(attempts: int, callers: int, count: int) -> None:
    """Without capacity, three attempts of ten processes are a warning."""
    text = policy(attempts, f"{{callers: {callers}}}", None)
    found = lint_yaml(text, "RT006")
    assert [d.severity for d in found] == [Severity.WARNING] * count
    if found:
        assert found[0].message == (
            "10 client processes make up to 3 attempts of each call of "
            "payment_api.charge, and no retry budget bounds them together"
        )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "callers", "count"), [(2, 4, 1), (2, 3, 0), (1, 4, 0)]
)
def test_what_is_many_can_be_set(attempts: int, callers: int, count: int) -> None:
    """A project may call two attempts of four processes many."""
    text = policy(attempts, f"{{callers: {callers}}}", None)
    thresholds = {"RT006": {"many_attempts": 2, "many_callers": 4}}
    assert len(lint_yaml(text, "RT006", thresholds=thresholds)) == count


@pytest.mark.boundary
def test_all_operations_share_the_capacity() -> None:
    """2 x 100/s and 3 x 50/s make 350 attempts/s of one capacity."""
    text = (
        "version: 1\nservice: payment_api\nowner: p\nfacts: {capacity: %s}\n"
        "defaults: {transport: http, idempotent: true}\noperations:\n"
        "  charge: {facts: {rate: 100/s}, retry: {max_attempts: 2}}\n"
        "  refund: {facts: {rate: 50/s}, retry: {max_attempts: 3}}\n"
    )
    assert lint_yaml(text % "351/s", "RT006") == []
    found = lint_yaml(text % "350/s", "RT006")
    assert {d.message for d in found} == {
        (
            "150/s x 2.333 attempts = 350/s >= capacity 350/s of payment_api: "
            "once overloaded, retries keep it overloaded"
        )
    }
    assert len(found) == 2


def test_layers_in_front_multiply() -> None:
    """A mesh that tries twice doubles the attempts: 100/s x 2 x 2."""
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 100/s}}\nretry: {{max_attempts: 2}}",
        "facts: {capacity: 400/s, layers: [{name: mesh, max_attempts: 2}]}",
    )
    (found,) = lint_yaml(text, "RT006")
    assert found.message.startswith("100/s x 4 attempts = 400/s")


def test_callers_with_an_override_count_with_their_own_attempts() -> None:
    """30/s of one attempt and 70/s of three are 240 attempts/s."""
    shop = (
        "---\nversion: 1\nservice: shop\nowner: s\nfacts: {instances: 1}\noperations:\n"
        "  page:\n    transport: local\n    facts: {rate: 30/s}\n    calls:\n"
        "      - {to: payment_api.charge, override: {retry: off}}\n"
    )
    text = policy(3, "{rate: 100/s}", "240/s") + shop
    (found,) = lint_yaml(text, "RT006")
    assert "= 240/s >= capacity 240/s" in found.message
    assert lint_yaml(text.replace("240/s", "241/s"), "RT006") == []


def test_unlimited_attempts_have_no_bound() -> None:
    """A loop whose waits stay at 5 s is vulnerable at any rate."""
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 1/s}}\nretry: {{max_attempts: unlimited}}",
        "class: control_loop\nfacts: {capacity: 1000/s}",
    )
    (found,) = lint_yaml(text, "RT006")
    assert found.message.startswith("1/s without limit >= capacity 1000/s")


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("backoff", "count"),
    [
        ("{initial: 1s, max: 10s}", 0),
        ("{initial: 1s, max: 9s}", 1),
        ("{initial: 1s, max: 10s, jitter: none}", 1),
    ],
)
@pytest.mark.parametrize("capacity", ["", "capacity: 1000/s"])
def test_a_calm_loop_goes_at_the_pace_of_its_back_off(
    backoff: str, count: int, capacity: str
) -> None:
    """With jitter and waits that grow to 10 s, a loop may try for ever."""
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 1/s, callers: 2000}}\n"
        f"retry: {{max_attempts: unlimited, backoff: {backoff}}}",
        f"class: control_loop\nfacts: {{{capacity}}}",
    )
    assert len(lint_yaml(text, "RT006")) == count
    assert len(lint_yaml(text, "GR005")) == (count if capacity else 0)


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "capacity", "absent"),
    [
        ("{callers: 8}", "300/s", ["operations.charge.facts.rate"]),
        ("{rate: 1/s, callers: 8}", None, ["facts.capacity"]),
        ("{rate: 1/s}", None, ["facts.capacity", "operations.charge.facts.callers"]),
    ],
)
def test_missing_facts_are_named(
    facts: str, capacity: str | None, absent: list[str]
) -> None:
    """The rule says which facts it lacks."""
    result = run_yaml(policy(3, facts, capacity), "RT006")
    assert result.diagnostics == ()
    found = [s.fact.removeprefix("payment_api.") for s in result.coverage.skipped]
    assert found == absent


def test_retry_of_a_preset_is_shown_there() -> None:
    """An inherited retry is a related place."""
    preset = "version: 1\npreset: many\ndefaults:\n  retry: {max_attempts: 2}\n"
    text = operation_yaml(
        f"{HEAD}facts: {{rate: 200/s}}", "extends: [many]\nfacts: {capacity: 300/s}"
    )
    (found,) = lint_yaml(text, "RT006", files={"many.yaml": preset})
    assert str(found.related[0].span) == "many.yaml:4:3"
