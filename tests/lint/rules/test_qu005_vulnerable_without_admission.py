"""QU005: callees that retries can overload and that admit everything."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(capacity: str = "400/s", service: str = "", attempts: int = 2) -> str:
    """200/s with so many attempts."""
    return operation_yaml(
        "transport: http\nidempotent: true\nfacts: {rate: 200/s}\n"
        f"retry: {{max_attempts: {attempts}}}",
        f"facts: {{capacity: {capacity}, instances: 4, service_time: {{mean: 100ms}}}}\n"
        f"{service}",
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("400/s", 1), ("400.1/s", 0)])
def test_boundary(capacity: str, count: int) -> None:
    """200/s x 2 just reach 400/s."""
    assert len(lint_yaml(policy(capacity), "QU005")) == count


def test_message_and_advice() -> None:
    """400/s x 0.1 s x 1.2 = 48 slots over four processes: 12 each."""
    (found,) = lint_yaml(policy(), "QU005")
    assert found.message == (
        "200/s become 400/s when all attempts fail, at a capacity of 400/s, and "
        "payment_api admits everything"
    )
    assert found.help == (
        "add inbound.bulkhead: {max_concurrent: 12} (C x S x 1.2 per process)"
    )
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("facts", "help"),
    [
        (
            "instances: 4, service_time: {mean: 1ms}",
            "add inbound.bulkhead: {max_concurrent: 1} (C x S x 1.2 per process)",
        ),
        (
            "service_time: {mean: 100ms}",
            "add inbound.bulkhead: {max_concurrent: 48} (C x S x 1.2 per process)",
        ),
        (
            "instances: 4, service_time: {mean: 101ms}",
            "add inbound.bulkhead: {max_concurrent: 13} (C x S x 1.2 per process)",
        ),
        ("instances: 4", "add an inbound bulkhead"),
    ],
)
def test_slots_are_rounded_up_from_one(facts: str, help: str) -> None:
    """400 x 0.001 x 1.2 / 4 = 0.12; 48 in one process; 48.48 / 4 = 12.12."""
    text = policy().replace("instances: 4, service_time: {mean: 100ms}", facts)
    (found,) = lint_yaml(text, "QU005")
    assert found.help == help


def test_critical_services_are_an_error() -> None:
    """What matters most must not fall over."""
    (found,) = lint_yaml(policy(service="critical: true"), "QU005")
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("inbound", "count"),
    [
        ("inbound: {bulkhead: {max_concurrent: 12}}", 0),
        ("inbound: {rate_limit: {rate: 300/s}, bulkhead: {max_concurrent: 9}}", 0),
        ("inbound: {bulkhead: {max_concurrent: 12, mode: observe}}", 1),
    ],
)
def test_any_limit_that_enforces_will_do(inbound: str, count: int) -> None:
    """Slots or a rate, as long as they reject."""
    assert len(lint_yaml(policy(service=inbound), "QU005")) == count


CAPACITY, RATE, CALLERS = (
    "payment_api.facts.capacity",
    "payment_api.operations.charge.facts.rate",
    "payment_api.operations.charge.facts.callers",
)
BUDGET = "retry: {budget: {ratio: 10%, refill: success, floor: 1/s}}"


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("settings", "service", "absent"),
    [
        ("facts: {rate: 200/s}\nretry: {}", "", [CAPACITY]),
        ("facts: {rate: 200/s}\nhedge: {delay: 1s}", "", [CAPACITY]),
        ("facts: {callers: 2}", "facts: {capacity: 1/s}", [RATE]),
        ("facts: {callers: 2}\nretry: {}", "", [CAPACITY, RATE]),
        (f"facts: {{rate: 9/s}}\n{BUDGET}", "facts: {capacity: 10/s}", [CALLERS]),
    ],
)
def test_missing_facts_are_named(
    settings: str, service: str, absent: list[str]
) -> None:
    """Nothing is proved without capacity and rate, or callers where floors are theirs."""
    text = operation_yaml(f"transport: http\nidempotent: true\n{settings}", service)
    result = run_yaml(text, "QU005")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == absent


@pytest.mark.boundary
@pytest.mark.parametrize(("callers", "count"), [(0, 0), (1, 1)])
def test_floors_of_retry_budgets(callers: int, count: int) -> None:
    """9/s and a floor of 1/s of one process reach 10/s; without one they do not."""
    stated = f", callers: {callers}" if callers else ""
    text = operation_yaml(
        f"transport: http\nidempotent: true\nfacts: {{rate: 9/s{stated}}}\n{BUDGET}",
        "facts: {capacity: 10/s}",
    )
    assert len(lint_yaml(text, "QU005")) == count


def test_services_that_nobody_retries_need_no_facts() -> None:
    """A layer that tries again, or a caller with a retry of its own, does need them."""
    text = operation_yaml("transport: http\nidempotent: true\nretry: {max_attempts: 1}")
    assert run_yaml(text, "QU005").coverage.skipped == ()
    mesh = operation_yaml(
        "transport: http", "facts: {layers: [{name: mesh, max_attempts: 2}]}"
    )
    assert CAPACITY in [s.fact for s in run_yaml(mesh, "QU005").coverage.skipped]
    shop = (
        "---\nversion: 1\nservice: shop\nowner: s\ncalls:\n"
        "  - {to: payment_api.charge, override: {retry: {max_attempts: 2}}}\n"
    )
    both = run_yaml(text + shop, "QU005")
    assert CAPACITY in [s.fact for s in both.coverage.skipped]


def test_services_that_admit_less_need_no_facts() -> None:
    """Where something turns requests away, nothing is asked."""
    text = operation_yaml("transport: http", "inbound: {rate_limit: {rate: 9/s}}")
    assert run_yaml(text, "QU005").coverage.skipped == ()
