"""GR006: services that wait for themselves."""

from __future__ import annotations

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml

PLACE = (
    "version: 1\nservice: orders\noperations:\n  place:\n    transport: http\n"
    "    calls: [{to: stock.reserve}]\n"
)
RESERVE = (
    "version: 1\nservice: stock\noperations:\n  reserve:\n    transport: http\n"
    "    calls: [{to: orders.place%s}]\n"
)


def test_a_cycle_is_shown_as_a_path() -> None:
    """The path is printed, the first call is the place, the others are related."""
    (found,) = lint_yaml(f"{PLACE}---\n{RESERVE % ''}", "GR006")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "calls lead back to their start: orders.place -> stock.reserve -> orders.place"
    )
    assert found.span.line == 6
    assert [(r.span.line, r.message) for r in found.related] == [
        (13, "stock.reserve calls orders.place")
    ]
    assert found.policy_path == "orders.operations.place.calls[stock.reserve]"


def test_a_detached_call_breaks_the_wait() -> None:
    """Nobody waits for the whole cycle, so it is a warning."""
    (found,) = lint_yaml(f"{PLACE}---\n{RESERVE % ', mode: detached'}", "GR006")
    assert found.severity is Severity.WARNING


def test_other_operations_of_a_service_are_not_the_same() -> None:
    """A call back into another operation is no cycle."""
    text = f"{PLACE}  cancel: {{transport: http}}\n---\n{RESERVE % ''}"
    assert lint_yaml(text.replace("orders.place}", "orders.cancel}"), "GR006") == []


def test_calls_of_a_whole_service_count_for_each_operation() -> None:
    """stock as a service calls orders, whichever operation was asked."""
    stock = (
        "version: 1\nservice: stock\ncalls: [{to: orders.place}]\noperations:\n"
        "  reserve: {transport: http}\n"
    )
    (found,) = lint_yaml(f"{PLACE}---\n{stock}", "GR006")
    assert found.message.endswith(
        "orders.place -> stock.reserve -> stock -> orders.place"
    )


def test_a_call_of_itself() -> None:
    """The shortest cycle has one call."""
    text = PLACE.replace("stock.reserve", "orders.place")
    (found,) = lint_yaml(text, "GR006")
    assert found.message.endswith("start: orders.place -> orders.place")


def test_context_is_seen_and_reported_in_ones_own_file() -> None:
    """Where the other half is context, the own call is the place."""
    (found,) = lint_yaml(RESERVE % "", "GR006", files={"orders.yaml": PLACE})
    assert found.span.path == "policy.yaml"
    assert found.related[0].span.path == "orders.yaml"
