"""QU005: callees that retries can overload and that admit everything."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


def policy(capacity: str = "400/s", service: str = "", attempts: int = 2) -> str:
    """200/s with so many attempts."""
    return operation_yaml(
        "transport: http\nidempotent: true\nfacts: {rate: 200/s}\n"
        f"retry: {{max_attempts: {attempts}}}",
        f"facts: {{capacity: {capacity}, instances: 4, service_time: {{mean: 100ms}}}}\n"
        f"{service}",
    )


@pytest.mark.parametrize(("capacity", "count"), [("400/s", 1), ("401/s", 0)])
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


def test_unknown_capacity_or_rate_is_silent() -> None:
    """Nothing is proved without both."""
    text = operation_yaml("transport: http\nfacts: {rate: 200/s}")
    assert lint_yaml(text, "QU005") == []
    text = operation_yaml("transport: http", "facts: {capacity: 1/s}")
    assert lint_yaml(text, "QU005") == []
