"""CB006: probes of dead callees that take the workers of a caller."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(workers: str, callees: int, settings: str) -> str:
    """shop calls so many services with these settings."""
    calls = ", ".join(f"{{to: dep{i}.get}}" for i in range(callees))
    services = "".join(
        f"---\nversion: 1\nservice: dep{i}\nowner: d\noperations:\n"
        f"  get: {{transport: http, {settings}}}\n"
        for i in range(callees)
    )
    return (
        f"version: 1\nservice: shop\nowner: s\nfacts: {{instances: 1, {workers}}}\n"
        f"calls: [{calls}]\n{services}"
    )


def test_the_published_case() -> None:
    """42 callees x 250 ms / (2.25 s x 2 workers) = 233 %; 50 ms and 30 s: 3.49 %."""
    bad = policy(
        "workers: 2",
        42,
        "attempt_timeout: 250ms, circuit_breaker: {recovery_timeout: 2s}",
    )
    (found,) = lint_yaml(bad, "CB006")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "probes of 42 dead callees bind 233.3% of the 2 workers of shop, "
        "those of dep0.get 5.556%"
    )
    assert (found.span.line, found.policy_path) == (4, "shop.facts.workers")
    good = policy(
        "workers: 2",
        42,
        "attempt_timeout: 50ms, circuit_breaker: {recovery_timeout: 30s}",
    )
    assert lint_yaml(good, "CB006") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("recovery", "severity"),
    [
        ("1s", Severity.ERROR),
        ("1001ms", Severity.WARNING),
        ("38999ms", Severity.WARNING),
        ("39s", None),
    ],
)
def test_boundaries(recovery: str, severity: Severity | None) -> None:
    """2 probes of 1 s each: 2 / (1 + 1) = 100 %, 2 / (39 + 1) = 5 %."""
    text = policy(
        "workers: 1",
        2,
        f"attempt_timeout: 1s, circuit_breaker: {{recovery_timeout: {recovery}}}",
    )
    found = lint_yaml(text, "CB006")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_shorter_probe_limit_and_more_probes() -> None:
    """half_open_max_wait bounds a probe, and each probe in flight binds a worker."""
    text = policy(
        "workers: 10",
        1,
        "attempt_timeout: 5s, circuit_breaker: "
        "{recovery_timeout: 9s, half_open_max_wait: 1s, half_open_max_calls: 6}",
    )
    (found,) = lint_yaml(text, "CB006")
    assert "probes of 1 dead callee bind 6% of the 10 workers" in found.message


@pytest.mark.missing_facts
def test_missing_workers_are_named() -> None:
    """Without workers the share is unknown; without breakers nothing is asked."""
    result = run_yaml(policy("domain: a", 1, "circuit_breaker: {}"), "CB006")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["shop.facts.workers"]
    assert (
        run_yaml(policy("domain: a", 1, "budget: 1s"), "CB006").coverage.skipped == ()
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("recovery", "count"), [("19s", 0), ("18999ms", 1)])
def test_share_can_be_set(recovery: str, count: int) -> None:
    """2 probes of 1 s each: 2 / (19 + 1) = 10 %."""
    text = policy(
        "workers: 1",
        2,
        f"attempt_timeout: 1s, circuit_breaker: {{recovery_timeout: {recovery}}}",
    )
    settings = {"CB006": {"share": "10%"}}
    assert len(lint_yaml(text, "CB006", thresholds=settings)) == count


def test_without_an_attempt_timeout_a_probe_has_its_own_limit() -> None:
    """The default half_open_max_wait of 60 s: 60 / (30 + 60) = 66.67 %."""
    (found,) = lint_yaml(policy("workers: 1", 1, "circuit_breaker: {}"), "CB006")
    assert "probes of 1 dead callee bind 66.67% of the 1 worker" in found.message


def test_a_circuit_of_the_service_probes_once() -> None:
    """Two operations with one circuit: 1 s / (9 s + 1 s) of 1 worker, not twice that."""
    text = (
        "version: 1\nservice: shop\nowner: s\nfacts: {workers: 1}\n"
        "calls: [{to: dep.get}, {to: dep.put}]\n---\nversion: 1\nservice: dep\n"
        "defaults: {transport: http, attempt_timeout: 1s, circuit_breaker: "
        "{scope: service, recovery_timeout: 9s}}\noperations: {get: {}, put: {}}\n"
    )
    (found,) = lint_yaml(text, "CB006")
    assert found.message.startswith("probes of 1 dead callee bind 10% of the 1 worker")
    (found,) = lint_yaml(text.replace("scope: service", "scope: operation"), "CB006")
    assert found.message.startswith("probes of 2 dead callees bind 20% of the 1 worker")


def test_circuits_in_redis_share_their_probes() -> None:
    """One probe of a whole fleet is on no worker that anybody could name."""
    settings = (
        "attempt_timeout: 9s, circuit_breaker: {recovery_timeout: 1s, store: redis}"
    )
    text = policy("workers: 1", 1, settings).replace(
        "owner: d", "owner: d\nredis: {url_env: POLICY_REDIS_URL}"
    )
    assert lint_yaml(text, "CB006") == []


def test_detached_and_disabled_do_not_count() -> None:
    """Probes that hold no worker are free."""
    settings = "attempt_timeout: 9s, circuit_breaker: {recovery_timeout: 1s%s}"
    text = policy("workers: 1", 1, settings % "")
    detached = text.replace("dep0.get}", "dep0.get, mode: detached}", 1)
    assert lint_yaml(detached, "CB006") == []
    disabled = policy("workers: 1", 1, settings % ", mode: disabled")
    assert lint_yaml(disabled, "CB006") == []
