"""QU006: queues that never drain, or that hand work out twice."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    queue: str = "",
    store: str = "external",
    facts: str = "",
    service: str = "",
    consume: str = "{operation: worker.handle}",
) -> str:
    """A queue whose work takes up to 3 x 20 s + 0.3 s."""
    place = {"external": "", "sqlite": "    path: jobs.db\n"}[store]
    return (
        f"version: 1\nservice: worker\nowner: w\n{service}operations:\n  handle:\n"
        "    transport: http\n    idempotent: true\n    attempt_timeout: 20s\n"
        f"    budget: 70s\n    retry: {{retry_after: off}}\n{facts}"
        f"queues:\n  jobs:\n    store: {store}\n{place}    max_size: 1000\n"
        f"    consume: {consume}\n{queue}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("lease", "store", "severity"),
    [
        ("60300ms", "external", None),
        ("60299ms", "external", Severity.ERROR),
        ("60299ms", "sqlite", Severity.WARNING),
    ],
)
def test_lease(lease: str, store: str, severity: Severity | None) -> None:
    """A lease as long as the worst case, 3 x 20 s + 0.1 s + 0.2 s = 60.3 s, is enough."""
    found = lint_yaml(policy(f"    lease: {lease}\n", store), "QU006")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_message_of_a_short_lease() -> None:
    """The worst case is worked out, and doubled for the advice."""
    (found,) = lint_yaml(policy("    lease: 30s\n"), "QU006")
    assert found.message == (
        "lease 30s < 1m0.3s, the worst case of worker.handle: a second worker gets the "
        "item while the first still works"
    )
    assert found.help == "set lease: 2m10s (twice the worst case)"
    assert found.policy_path == "worker.queues.jobs.lease"


def test_the_default_lease_is_sound() -> None:
    """Twice the worst case is what an unstated lease is."""
    assert lint_yaml(policy(store="sqlite"), "QU006") == []


def test_unlimited_deliveries() -> None:
    """A bad item must leave at some time."""
    (found,) = lint_yaml(policy("    max_deliveries: off\n"), "QU006")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "queue worker.jobs delivers an item that always fails for ever"
    )


FACTS = "    facts: {rate: %s, latency: {mean: 100ms}}\n"
FLEET = "facts: {instances: 2}\n"


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("39.9/s", 0), ("40/s", 1)])
def test_consumers_must_serve_more_than_arrives(rate: str, count: int) -> None:
    """2 processes x 2 consumers / 0.1 s serve 40/s; as many arrivals never drain."""
    text = policy(
        facts=FACTS % rate,
        service=FLEET,
        consume="{operation: worker.handle, concurrency: 2}",
    )
    found = lint_yaml(text, "QU006")
    assert [d.message for d in found] == [
        "4 consumers at 100ms an item serve 40/s, and 40/s arrive: the queue only grows"
    ] * count
    if found:
        assert found[0].help == "set concurrency: 3 or more"


@pytest.mark.boundary
@pytest.mark.parametrize(("age", "count"), [("10m", 0), ("599999ms", 1)])
def test_backlog_of_an_outage(age: str, count: int) -> None:
    """20/s x 600 s / (40 - 20)/s = 600 s to drain."""
    text = policy(
        f"    max_age: {age}\n",
        facts=FACTS % "20/s",
        service=FLEET,
        consume="{operation: worker.handle, concurrency: 2}",
    )
    found = lint_yaml(text, "QU006")
    assert [d.severity for d in found] == [Severity.WARNING] * count
    if found:
        assert found[0].message.endswith("takes 10m to drain, over max_age 9m59.999s")


@pytest.mark.boundary
@pytest.mark.parametrize(("age", "count"), [("1m", 0), ("59999ms", 1)])
def test_outage_can_be_set(age: str, count: int) -> None:
    """20/s x 60 s / (40 - 20)/s = 60 s to drain after an outage of a minute."""
    text = policy(
        f"    max_age: {age}\n",
        facts=FACTS % "20/s",
        service=FLEET,
        consume="{operation: worker.handle, concurrency: 2}",
    )
    found = lint_yaml(text, "QU006", thresholds={"QU006": {"outage": "1m"}})
    assert [d.message for d in found] == [
        (
            "4 consumers at 100ms an item serve 40/s, and 20/s arrive: the backlog of an outage of 1m "
            "takes 1m to drain, over max_age 59.999s"
        )
    ] * count


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "service", "absent"),
    [
        ("", "", ["facts.instances", "handle.latency.mean", "handle.rate"]),
        ("{rate: 1/s, latency: {mean: 9s}}", "", ["facts.instances"]),
        ("{rate: 1/s, latency: {p99: 9s}}", FLEET, ["handle.latency.mean"]),
        ("{latency: {mean: 9s}}", FLEET, ["handle.rate"]),
    ],
)
def test_missing_facts_are_named(facts: str, service: str, absent: list[str]) -> None:
    """Rate, mean latency and instances unlock the arithmetic, each by itself."""
    stated = f"    facts: {facts}\n" if facts else ""
    result = run_yaml(policy(facts=stated, service=service), "QU006")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        f"worker.{fact.replace('handle.', 'operations.handle.facts.')}"
        for fact in absent
    ]
