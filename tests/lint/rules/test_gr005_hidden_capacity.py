"""GR005: services whose planned load is beyond the load that they recover from."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(
    capacity: str = "600/s", service: str = "", facts: str = "{rate: 240/s}"
) -> str:
    """240/s with three attempts each."""
    return operation_yaml(
        f"transport: http\nidempotent: true\nfacts: {facts}\nretry: {{max_attempts: 3}}",
        f"facts: {{capacity: {capacity}, source: load test 41}}\n{service}",
    )


@pytest.mark.parametrize(("capacity", "count"), [("720/s", 1), ("721/s", 0)])
def test_boundary(capacity: str, count: int) -> None:
    """240/s x 3 just reach 720/s."""
    assert len(lint_yaml(policy(capacity), "GR005")) == count


def test_message_and_advice() -> None:
    """600/s / 3 = 200/s; 0.9 x 600 / 240 = 2.25 attempts are allowed."""
    (found,) = lint_yaml(policy(), "GR005")
    assert found.message == (
        "240/s planned, but overloaded payment_api recovers only below 200/s: capacity "
        "600/s / 3 attempts (capacity from load test 41)"
    )
    assert found.help is not None
    assert "below 2.25 attempts for each first try" in found.help
    assert found.policy_path == "payment_api.facts.capacity"


def test_critical_services_are_an_error() -> None:
    """What matters most must come back by itself."""
    (found,) = lint_yaml(policy(service="critical: true"), "GR005")
    assert found.severity is Severity.ERROR


def test_no_retry_can_help_where_first_tries_fill_it() -> None:
    """580/s of 600/s leave no room at all."""
    (found,) = lint_yaml(policy(facts="{rate: 580/s}"), "GR005")
    assert found.help == "add capacity: first tries alone use 90% of it"


def test_a_cache_takes_its_hits_away() -> None:
    """Of 2,400/s with 90 % hits, 240/s reach the service."""
    text = policy(facts="{rate: 2400/s}").replace(
        "source: load test 41", "cache: {hit_ratio: 90%}"
    )
    (found,) = lint_yaml(text, "GR005")
    assert found.message.startswith("240/s planned")


def test_missing_rates_are_named() -> None:
    """Without rates the load is unknown."""
    result = run_yaml(policy(facts="{callers: 3}"), "GR005")
    assert [s.fact.rpartition(".")[2] for s in result.coverage.skipped] == ["rate"]


@pytest.mark.parametrize(("instances", "count"), [(1, 0), (2, 1), (10, 1), (11, 0)])
def test_one_instance_lost(instances: int, count: int) -> None:
    """240/s x 3 = 720/s reach 9/10 of 800/s, and not 10/11 of it."""
    text = policy("800/s").replace("source:", f"instances: {instances}, source:")
    found = lint_yaml(text, "GR005")
    assert [d.severity for d in found] == [Severity.INFO] * count
    if instances == 10:
        assert found[0].message == (
            "with one of 10 instances lost, 240/s x 3 attempts = 720/s reach what is left "
            "of the capacity, 720/s"
        )
