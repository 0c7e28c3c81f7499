"""QU002: queues whose last request is served when nobody waits for it."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    queue: int = 1000,
    wait: str = "1m",
    attempts: tuple[str, ...] = ("1s",),
    facts: str = "workers: 10, service_time: {mean: 100ms}",
    slots: int = 10,
) -> str:
    """A server with this queue, called with these timeouts."""
    operations = "".join(
        f"  op{i}: {{transport: http, attempt_timeout: {attempt}}}\n"
        for i, attempt in enumerate(attempts)
    )
    return (
        f"version: 1\nservice: search_api\nowner: s\nfacts: {{{facts}}}\n"
        f"operations:\n{operations}inbound:\n"
        f"  bulkhead: {{max_concurrent: {slots}, max_queue: {queue}, max_wait: {wait}}}\n"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("queue", "count"), [(90, 0), (91, 1)])
def test_boundary(queue: int, count: int) -> None:
    """90 x 0.1 s / 10 + 0.1 s are just the 1 s that callers wait."""
    assert len(lint_yaml(policy(queue), "QU002")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "severity"),
    [
        (("1s",), Severity.ERROR),
        (("1s", "10099ms"), Severity.ERROR),
        (("1s", "10s"), Severity.ERROR),
        (("1s", "10100ms"), Severity.WARNING),
        (("10100ms",), None),
        (("10099ms",), Severity.ERROR),
    ],
)
def test_every_caller_or_the_least_patient(
    attempts: tuple[str, ...], severity: Severity | None
) -> None:
    """1000 x 0.1 s / 10 + 0.1 s = 10.1 s."""
    found = lint_yaml(policy(attempts=attempts), "QU002")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_messages() -> None:
    """The sum, who gave up, and a queue of 0.8 x 0.9 s x 10 / 0.1 s = 72."""
    (found,) = lint_yaml(policy(), "QU002")
    assert found.message == (
        "the last request of a full queue is served after 10.1s (1000 x 100ms / 10 + "
        "100ms), when every caller has given up (1s)"
    )
    assert found.help == "set max_queue: 72, or max_wait: 900ms"
    assert found.policy_path == "search_api.inbound.bulkhead.max_queue"


@pytest.mark.boundary
@pytest.mark.parametrize(("wait", "count"), [("900ms", 0), ("901ms", 1), ("0s", 0)])
def test_max_wait_bounds_the_wait(wait: str, count: int) -> None:
    """A long queue that nobody waits in for long is fine."""
    found = lint_yaml(policy(wait=wait), "QU002")
    assert len(found) == count
    if found:
        assert "served after 1.001s (max_wait 901ms + 100ms)" in found[0].message


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("queue", "wait", "count"), [(0, "1m", 0), (1, "0s", 0), (1, "1us", 1)]
)
def test_nothing_waits_without_a_queue_or_a_wait(
    queue: int, wait: str, count: int
) -> None:
    """Of requests that take 2 s none is in time, but only those that wait are our matter."""
    text = policy(queue, wait, facts="workers: 10, service_time: {mean: 2s}")
    found = lint_yaml(text, "QU002")
    assert [d.help for d in found] == ["set max_queue: 0, or max_wait: 0s"] * count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("wait", "key"), [("9999ms", "max_wait"), ("10s", "max_queue")]
)
def test_what_bounds_the_wait_is_the_place(wait: str, key: str) -> None:
    """1000 x 0.1 s / 10 = 10 s: a max_wait of as much changes nothing."""
    (found,) = lint_yaml(policy(wait=wait), "QU002")
    assert found.policy_path == f"search_api.inbound.bulkhead.{key}"


def test_the_slower_of_slots_and_workers_serves() -> None:
    """Ten slots on five workers serve like five."""
    text = policy(45, facts="workers: 5, service_time: {mean: 100ms}")
    assert lint_yaml(text, "QU002") == []
    text = policy(46, facts="workers: 5, service_time: {mean: 100ms}")
    assert len(lint_yaml(text, "QU002")) == 1


def test_overrides_of_callers_count() -> None:
    """The least patient caller may be one with an override."""
    shop = (
        "---\nversion: 1\nservice: shop\nowner: s\ncalls:\n"
        "  - {to: search_api.op0, override: {attempt_timeout: 300ms}}\n"
    )
    (found,) = lint_yaml(policy(30) + shop, "QU002")
    assert found.severity is Severity.WARNING
    assert found.message.endswith("when the least patient caller has given up (300ms)")


HEADER = "header: {name: X-Timeout-Budget}"


@pytest.mark.parametrize(
    ("sent", "severity"),
    [
        (HEADER, Severity.INFO),
        ("header: {name: x-timeout-budget}", Severity.INFO),
        ("header: {name: X-Other}", Severity.ERROR),
        ("total: 2s", Severity.ERROR),
    ],
)
def test_servers_that_drop_what_has_expired(sent: str, severity: Severity) -> None:
    """A caller's budget in the header that the server reads ends the wait in the queue."""
    text = policy().replace(
        "attempt_timeout: 1s", f"attempt_timeout: 1s, budget: {{{sent}}}"
    )
    (found,) = lint_yaml(f"{text}  budget: {{default: 5s, {HEADER}}}\n", "QU002")
    assert found.severity is severity


@pytest.mark.missing_facts
def test_missing_workers_are_named_where_they_could_decide() -> None:
    """Fewer workers than slots make the wait longer, up to max_wait."""
    unknown = "service_time: {mean: 100ms}"
    result = run_yaml(policy(90, facts=unknown), "QU002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["search_api.facts.workers"]
    bounded = run_yaml(policy(90, "900ms", facts=unknown), "QU002")
    assert (bounded.diagnostics, bounded.coverage.skipped) == ((), ())
    assert len(lint_yaml(policy(91, facts=unknown), "QU002")) == 1


def test_callers_without_a_timeout_are_not_asked() -> None:
    """Nobody is known to give up; TB001 speaks of that."""
    result = run_yaml(policy(attempts=("off",)), "QU002")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


@pytest.mark.missing_facts
def test_missing_service_time_is_named() -> None:
    """Without the mean service time the wait is unknown."""
    result = run_yaml(policy(facts="workers: 10"), "QU002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        "search_api.facts.service_time.mean"
    ]
