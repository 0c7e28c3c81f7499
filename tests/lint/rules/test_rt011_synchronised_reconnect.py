"""RT011: clients that all come back at once."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(reconnect: str, callers: int | None = 200_000) -> str:
    """A service with so many clients."""
    facts = "" if callers is None else f"facts: {{callers: {callers}}}"
    return operation_yaml(
        f"transport: http\n{facts}", f"facts: {{reconnect: {reconnect}}}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("reconnect", "severity"),
    [
        ("{delay: 1s, jitter: none, accept_rate: 2000/s}", Severity.ERROR),
        ("{delay: 1s, jitter: none}", Severity.WARNING),
        ("{delay: 1s}", Severity.WARNING),
        ("{delay: 1s, jitter: full}", None),
        ("{window: 100s, jitter: full, accept_rate: 2000/s}", None),
        ("{window: 99999ms, jitter: full, accept_rate: 2000/s}", Severity.ERROR),
        ("{delay: 100s, jitter: full, accept_rate: 2000/s}", None),
        ("{delay: 99999ms, jitter: full, accept_rate: 2000/s}", Severity.ERROR),
        ("{delay: 199s, jitter: equal, accept_rate: 2000/s}", Severity.ERROR),
        ("{delay: 200s, jitter: equal, accept_rate: 2000/s}", None),
        ("{delay: 49s, jitter: decorrelated, accept_rate: 2000/s}", Severity.ERROR),
        ("{delay: 50s, jitter: decorrelated, accept_rate: 2000/s}", None),
    ],
)
def test_windows(reconnect: str, severity: Severity | None) -> None:
    """200,000 clients at 2,000/s need 100 s.

    Equal jitter spreads over half of the delay, decorrelated over d to 3 d.
    """
    found = lint_yaml(policy(reconnect), "RT011")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_messages() -> None:
    """Both messages print the fleet and the times."""
    (late,) = lint_yaml(policy("{window: 10s, accept_rate: 2000/s}"), "RT011")
    assert late.message == (
        "200000 clients come back within 10s, but accepting them at 2000/s takes 1m40s"
    )
    assert late.help == "spread reconnects over 1m40s with full jitter"
    (bare,) = lint_yaml(policy("{jitter: none, accept_rate: 2000/s}"), "RT011")
    assert bare.message.startswith("200000 clients come back together, but")
    (at_once,) = lint_yaml(policy("{jitter: none}"), "RT011")
    assert at_once.message.endswith("come back together")
    (fixed,) = lint_yaml(policy("{delay: 5s}"), "RT011")
    assert fixed.message == (
        "200000 clients that lose their connections together come back together "
        "after 5s"
    )


def test_a_fleet_of_two_million() -> None:
    """The fleet of the catalogue at 2,000/s: 1000 s, whatever the fixed delay."""
    reconnect = "{delay: 1s, jitter: none, accept_rate: 2000/s}"
    (found,) = lint_yaml(policy(reconnect, 2_000_000), "RT011")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "2000000 clients come back together after 1s, but accepting them at 2000/s takes 16m40s"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("callers", "count"), [(1, 0), (2, 1)])
def test_one_client_is_no_wave(callers: int, count: int) -> None:
    """Two that come back together are the first wave."""
    assert len(lint_yaml(policy("{delay: 1s}", callers), "RT011")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("callers", "count"), [(200, 0), (201, 1)])
def test_fleets_that_fit_into_a_second(callers: int, count: int) -> None:
    """200 clients at 200/s are nothing."""
    text = policy("{delay: 1s, jitter: none, accept_rate: 200/s}", callers)
    assert len(lint_yaml(text, "RT011")) == count


@pytest.mark.missing_facts
def test_missing_accept_rate_is_named() -> None:
    """Whether a spread is wide enough depends on how fast connections are accepted."""
    result = run_yaml(policy("{delay: 1s, jitter: full}"), "RT011")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "payment_api.facts.reconnect.accept_rate"
    ]


@pytest.mark.missing_facts
def test_missing_callers_of_a_second_operation_are_named() -> None:
    """Known clients that fit leave open whether all do."""
    text = policy("{delay: 1s, accept_rate: 200/s}", 200)
    text += "  refund: {transport: http}\n"
    result = run_yaml(text, "RT011")
    assert result.diagnostics == ()
    refund = "payment_api.operations.refund.facts.callers"
    assert [s.fact for s in result.coverage.skipped] == [refund]
    assert len(lint_yaml(text.replace("200}", "201}"), "RT011")) == 1
    wide = text.replace("200}", "201}").replace("delay: 1s", "window: 2s")
    result = run_yaml(wide, "RT011")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [refund]


@pytest.mark.missing_facts
def test_missing_instances_are_named() -> None:
    """A service without operations is its own fleet."""
    text = (
        "version: 1\nservice: agent\nowner: a\n"
        "facts: {reconnect: {delay: 1s, accept_rate: 100/s}}\n"
        "queues:\n  jobs: {store: sqlite, path: jobs.db, max_size: 10}\n"
    )
    result = run_yaml(text, "RT011")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["agent.facts.instances"]


@pytest.mark.missing_facts
def test_missing_callers_are_named() -> None:
    """Without the number of clients the rule is silent."""
    result = run_yaml(policy("{delay: 1s}", None), "RT011")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "payment_api.operations.charge.facts.callers"
    ]


def test_a_client_that_describes_itself() -> None:
    """A service without operations reconnects with its own instances."""
    text = (
        "version: 1\nservice: agent\nowner: a\n"
        "facts: {instances: 5000, reconnect: {delay: 1s, accept_rate: 100/s}}\n"
        "queues:\n  jobs: {store: sqlite, path: jobs.db, max_size: 10}\n"
    )
    (found,) = lint_yaml(text, "RT011")
    assert found.message.startswith("5000 clients come back together after 1s")


@pytest.mark.missing_facts
@pytest.mark.parametrize("reconnect", ["{accept_rate: 2000/s}", "{jitter: full}"])
def test_a_delay_that_nobody_states_is_not_guessed(reconnect: str) -> None:
    """Without delay, window and `jitter: none`, nothing says when clients come back."""
    result = run_yaml(policy(reconnect), "RT011")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "payment_api.facts.reconnect.delay"
    ]
