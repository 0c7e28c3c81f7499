"""BH001: one hanging callee that takes all workers of a caller."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    attempt: str = "3s",
    more: str = "budget: 5s",
    workers: str = "workers: 100",
    call: str = "",
    transport: str = "http",
) -> str:
    """shop, two processes at 100/s, calls price_api.get_price."""
    return f"""\
version: 1
service: shop
owner: shop-team
facts: {{instances: 2, {workers}}}
operations:
  page:
    transport: local
    facts: {{rate: 100/s}}
    calls: [{{to: price_api.get_price{call}}}]
---
version: 1
service: price_api
owner: price-team
operations:
  get_price:
    transport: {transport}
    attempt_timeout: {attempt}
    {more}
"""


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "severity"),
    [
        ("999ms", None),
        ("1s", Severity.WARNING),
        ("1999ms", Severity.WARNING),
        ("2s", Severity.ERROR),
    ],
)
def test_boundaries(attempt: str, severity: Severity | None) -> None:
    """50/s of each process: 1 s binds half of 100 workers, 2 s all of them."""
    found = lint_yaml(policy(attempt), "BH001")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_message_and_place() -> None:
    """50/s x 3 s = 150 calls, and the call is the place."""
    (found,) = lint_yaml(policy(), "BH001")
    assert found.message == (
        "if price_api.get_price hangs, 50/s x 3s = 150 calls bind 100% of the 100 "
        "workers of shop"
    )
    assert (found.span.line, found.related[0].span.line) == (9, 17)


def test_help_sizes_the_bulkhead() -> None:
    """50/s x 0.2 s = 10 in flight: 10 + 3 sqrt(10) = 19.5, so 20 slots."""
    (found,) = lint_yaml(policy(more="facts: {latency: {p99: 200ms}}"), "BH001")
    assert found.help == "add bulkhead: {max_concurrent: 20}"


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("bulkhead: {max_concurrent: 20}", 0),
        ("bulkhead: {max_concurrent: 20, mode: observe}", 1),
    ],
)
def test_bulkheads_that_enforce(more: str, count: int) -> None:
    """Only a bulkhead that rejects protects."""
    assert len(lint_yaml(policy(more=more), "BH001")) == count


def test_calls_that_bind_nobody() -> None:
    """Detached calls and local work hold no worker of the caller."""
    assert lint_yaml(policy(call=", mode: detached"), "BH001") == []
    assert lint_yaml(policy(transport="local"), "BH001") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("attempt", "count"), [("599ms", 0), ("600ms", 1)])
def test_share_can_be_set(attempt: str, count: int) -> None:
    """50/s x 0.6 s = 30 are 30 % of 100 workers."""
    share = {"BH001": {"share": "30%"}}
    assert len(lint_yaml(policy(attempt), "BH001", thresholds=share)) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("budget", "count"), [("999ms", 0), ("1s", 1)])
def test_a_budget_may_end_the_hang_first(budget: str, count: int) -> None:
    """An attempt of 3 s under a budget of 1 s binds 50/s x 1 s = 50 of 100 workers."""
    found = lint_yaml(policy(more=f"budget: {budget}"), "BH001")
    assert ["50/s x 1s = 50 calls" in d.message for d in found] == [True] * count


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("stated", "lacking"),
    [
        ("workers: 100", "shop.facts.workers"),
        ("instances: 2, ", "shop.facts.instances"),
        ("    facts: {rate: 100/s}\n", "shop.operations.page.facts.rate"),
    ],
)
def test_missing_facts_are_named(stated: str, lacking: str) -> None:
    """Without workers, processes or traffic the share is unknown."""
    result = run_yaml(policy().replace(stated, "", 1), "BH001")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [lacking]


def test_a_missing_timeout_is_not_judged_here() -> None:
    """How long a call without attempt_timeout hangs is unknown; TB001 asks for one."""
    text = policy().replace("attempt_timeout: 3s", "description: no limit")
    result = run_yaml(text, "BH001")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


def test_an_override_is_the_policy_of_its_call() -> None:
    """A caller that shortens the timeout is safe."""
    text = policy(call=", override: {attempt_timeout: 500ms}")
    assert lint_yaml(text, "BH001") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("mode", "found"),
    [
        ("sequential", "1000/s x 200ms = 200 calls bind 100% of the 100 workers"),
        ("parallel", None),
    ],
)
def test_parallel_calls_of_a_request_hold_one_worker(
    mode: str, found: str | None
) -> None:
    """20 calls in parallel hold one worker for 200 ms: 50/s x 0.2 s = 10 of 100."""
    text = policy("200ms", call=f", per_request: 20, mode: {mode}")
    messages = [d.message for d in lint_yaml(text, "BH001")]
    assert len(messages) == (found is not None)
    assert found is None or found in messages[0]


def test_parallel_calls_that_drain_the_pool_are_counted_as_requests() -> None:
    """50/s x 2 s = 100 requests, whatever the number of calls that each waits for."""
    (found,) = lint_yaml(
        policy("2s", call=", per_request: 20, mode: parallel"), "BH001"
    )
    assert found.message == (
        "if price_api.get_price hangs, 50/s x 2s = 100 requests bind 100% of the 100 "
        "workers of shop"
    )
    assert found.severity is Severity.ERROR


@pytest.mark.boundary
def test_a_share_of_a_parallel_call_is_no_more_than_that() -> None:
    """Half a call for each request: 25/s x 2 s = 50 calls, half of the workers."""
    (found,) = lint_yaml(
        policy("2s", call=", per_request: 0.5, mode: parallel"), "BH001"
    )
    assert "25/s x 2s = 50 calls bind 50%" in found.message


@pytest.mark.boundary
@pytest.mark.parametrize(("workers", "fits"), [(25, True), (24, False)])
def test_no_bulkhead_as_large_as_the_workers_is_advised(
    workers: int, fits: bool
) -> None:
    """50/s x p99 250 ms are 12.5 calls: 12.5 + 3 sqrt(12.5) = 23.1, so 24 slots."""
    text = policy(
        "3s",
        "facts: {latency: {p99: 250ms}}\n    budget: 5s",
        workers=f"workers: {workers}",
    )
    (found,) = lint_yaml(text, "BH001")
    assert found.help is not None
    assert found.help.startswith("add bulkhead") is fits
