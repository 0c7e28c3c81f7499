"""CB001: a circuit breaker that total failure does not open."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.coverage import Skipped
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"
FACTS = "facts: {rate: 20/s, callers: 10}\n"


def policy(breaker: str, more: str = FACTS) -> str:
    """An operation with this breaker; one process makes 2 calls/s by default."""
    return operation_yaml(f"{HEAD}circuit_breaker: {breaker}\n{more}")


def test_the_example_of_the_catalogue() -> None:
    """20 calls/s by 10 processes for 10 s are 20 calls each, 100 are needed."""
    text = policy("{failure_ratio: 50%, window: 10s, minimum_calls: 100}")
    (found,) = lint_yaml(text, "CB001")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "one process makes 20 of the 100 calls needed in 10s (2/s each): "
        "the circuit can never open"
    )
    assert found.help == "set minimum_calls: 10"
    assert (found.span.line, found.span.column) == (8, 71)


@pytest.mark.boundary
@pytest.mark.parametrize(("minimum", "count"), [(20, 0), (21, 1)])
def test_exactly_enough_calls_are_enough(minimum: int, count: int) -> None:
    """2/s x 10 s = 20 calls reach a minimum of 20."""
    text = policy(f"{{failure_ratio: 50%, window: 10s, minimum_calls: {minimum}}}")
    assert len(lint_yaml(text, "CB001")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("minimum", "severity"),
    [(21, Severity.WARNING), (60, Severity.WARNING), (61, Severity.ERROR)],
)
def test_retries_count_as_calls(minimum: int, severity: Severity) -> None:
    """Three attempts of each failing call make up to 60 attempts in the window."""
    text = policy(
        f"{{failure_ratio: 50%, window: 10s, minimum_calls: {minimum}}}",
        f"{FACTS}retry: {{max_attempts: 3}}",
    )
    (found,) = lint_yaml(text, "CB001")
    assert found.severity is severity
    if severity is Severity.WARNING:
        assert found.message.endswith(
            "it can open only when every call uses all 3 attempts"
        )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("minimum", "severity"), [(40, Severity.WARNING), (41, Severity.ERROR)]
)
def test_hedges_count_as_calls(minimum: int, severity: Severity) -> None:
    """A hedge beside each of 20 calls makes up to 40 attempts in the window."""
    text = policy(
        f"{{failure_ratio: 50%, window: 10s, minimum_calls: {minimum}}}",
        f"{FACTS}hedge: {{delay: 100ms}}",
    )
    (found,) = lint_yaml(text, "CB001")
    assert found.severity is severity


def test_attempts_without_end_may_reach_any_minimum() -> None:
    """A loop that goes on trying is not proved to stay below it."""
    text = policy(
        "{failure_ratio: 50%, window: 10s, minimum_calls: 100}",
        f"{FACTS}retry: {{max_attempts: unlimited}}",
    ).replace("service: payment_api\n", "service: payment_api\nclass: control_loop\n")
    (found,) = lint_yaml(text, "CB001")
    assert found.severity is Severity.WARNING
    assert found.message.endswith("only when every call uses all its attempts")


@pytest.mark.boundary
@pytest.mark.parametrize(("minimum", "count"), [(200, 0), (201, 1)])
def test_a_circuit_in_redis_sees_all_processes(minimum: int, count: int) -> None:
    """20/s of the whole fleet x 10 s = 200 calls; nobody needs to count processes."""
    text = policy(
        f"{{failure_ratio: 50%, window: 10s, minimum_calls: {minimum}, store: redis}}",
        "facts: {rate: 20/s}\n",
    ).replace("owner:", "redis: {url_env: POLICY_REDIS_URL}\nowner:")
    found = lint_yaml(text, "CB001")
    assert [d.message for d in found] == [
        (
            "all processes together make 200 of the 201 calls needed in 10s (20/s in all): "
            "the circuit can never open"
        )
    ] * count


def override(breaker: str, facts: str = "{instances: 10}") -> str:
    """Two operations of shop, 10/s each, call price_api under a circuit of their own."""
    calls = f"[{{to: price_api.get, override: {{circuit_breaker: {breaker}}}}}]"
    return (
        f"version: 1\nservice: shop\nowner: s\nfacts: {facts}\n"
        "operations:\n"
        f"  page: {{transport: local, facts: {{rate: 10/s}}, calls: {calls}}}\n"
        f"  cart: {{transport: local, facts: {{rate: 10/s}}, calls: {calls}}}\n"
        "---\nversion: 1\nservice: price_api\nowner: p\n"
        "redis: {url_env: POLICY_REDIS_URL}\noperations:\n"
        "  get: {transport: http, idempotent: true, attempt_timeout: 1s}\n"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("minimum", "scope", "count"),
    [
        (10, "operation", 0),
        (11, "operation", 2),
        (20, "service", 0),
        (21, "service", 2),
    ],
)
def test_the_circuit_of_an_override(minimum: int, scope: str, count: int) -> None:
    """Each call makes 1/s of a process x 10 s = 10, both together 20."""
    breaker = (
        f"{{failure_ratio: 50%, window: 10s, minimum_calls: {minimum}, scope: {scope}}}"
    )
    assert len(lint_yaml(override(breaker), "CB001")) == count


@pytest.mark.missing_facts
def test_an_override_needs_the_callers_processes() -> None:
    """Without instances the share of one process is unknown; in Redis it is no matter."""
    breaker = "{failure_ratio: 50%, window: 10s, minimum_calls: 100}"
    result = run_yaml(override(breaker, "{domain: a}"), "CB001")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["shop.facts.instances"]
    shared = breaker.replace("}", ", store: redis}")
    result = run_yaml(override(shared, "{domain: a}"), "CB001")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


def test_consecutive_failures_still_open_it() -> None:
    """Where failure_threshold stands beside the ratio, only the ratio is dead."""
    text = policy(
        "{failure_threshold: 5, failure_ratio: 50%, window: 10s, minimum_calls: 100}"
    )
    (found,) = lint_yaml(text, "CB001")
    assert found.severity is Severity.WARNING
    assert found.message.endswith("only failure_threshold can open the circuit")


def test_slow_calls_need_the_window_too() -> None:
    """A slow-call rule waits for the same minimum."""
    text = policy(
        "{slow_call: {after: 1s, ratio: 50%}, window: 10s, minimum_calls: 100}"
    )
    assert len(lint_yaml(text, "CB001")) == 1


@pytest.mark.parametrize(
    "breaker",
    [
        "{failure_threshold: 5, window: 10s, minimum_calls: 100}",
        "{failure_ratio: 50%, window: 200 calls, minimum_calls: 100}",
        "{failure_ratio: 50%, window: 10s, minimum_calls: 100, mode: disabled}",
    ],
)
def test_breakers_that_need_no_traffic(breaker: str) -> None:
    """Consecutive failures, windows of calls and disabled breakers are no concern."""
    assert lint_yaml(policy(breaker), "CB001") == []


def test_low_traffic_gets_another_advice() -> None:
    """One call in 10 s: 2 x 20 calls take 400 s, so count consecutive failures."""
    text = policy(
        "{failure_ratio: 50%, window: 10s, minimum_calls: 20}",
        "facts: {rate: 0.1/s, callers: 1}",
    )
    (found,) = lint_yaml(text, "CB001")
    assert found.message.startswith("one process makes 1 of the 20 calls needed in 10s")
    assert found.help == (
        "open on failure_threshold: 5, which needs no window, or window: 6m40s"
    )


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "absent"),
    [
        ("", ("callers", "rate")),
        ("facts: {rate: 20/s}", ("callers",)),
        ("facts: {callers: 10}", ("rate",)),
    ],
)
def test_missing_facts_are_named(facts: str, absent: tuple[str, ...]) -> None:
    """Without rate and callers the rule is silent and says what it lacks."""
    text = policy("{failure_ratio: 50%, window: 10s, minimum_calls: 100}", facts)
    result = run_yaml(text, "CB001")
    assert result.diagnostics == ()
    place = "payment_api.operations.charge.facts"
    assert result.coverage.skipped == tuple(
        Skipped(f"{place}.{fact}", "CB001") for fact in absent
    )


@pytest.mark.boundary
def test_a_shared_breaker_sees_all_operations() -> None:
    """Two operations of 2 calls/s each share one breaker: 40 calls in 10 s."""
    breaker = "{scope: service, failure_ratio: 0.5, window: 10s, minimum_calls: %d}"
    text = (
        "version: 1\nservice: payment_api\nowner: p\ndefaults:\n"
        "  transport: http\n  facts: {rate: 20/s, callers: 10}\n"
        "  circuit_breaker: %s\noperations:\n  charge: {idempotent: true}\n"
        "  refund: {idempotent: true}\n"
    )
    assert lint_yaml(text % (breaker % 40), "CB001") == []
    found = lint_yaml(text % (breaker % 41), "CB001")
    assert {d.message for d in found} == {
        (
            "one process makes 40 of the 41 calls needed in 10s (4/s each): "
            "the circuit can never open"
        )
    }


def test_minimum_of_a_preset_is_shown_there() -> None:
    """An inherited minimum is a related place."""
    preset = (
        "version: 1\npreset: busy\ndefaults:\n  circuit_breaker:\n"
        "    failure_ratio: 50%\n    window: 10s\n    minimum_calls: 100\n"
    )
    text = operation_yaml(HEAD + FACTS, service="extends: [busy]")
    (found,) = lint_yaml(text, "CB001", files={"busy.yaml": preset})
    assert str(found.span) == "policy.yaml:6:3"
    assert str(found.related[0].span) == "busy.yaml:7:20"
