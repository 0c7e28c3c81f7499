"""CB003: circuits that open when the caller's workers are gone."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    attempt: str = "10s",
    breaker: str = "{failure_threshold: 5}",
    facts: str = "workers: 100",
    more: str = "",
    rate: str = "50/s",
) -> str:
    """shop calls price_api.get_price with one process."""
    return f"""\
version: 1
service: shop
owner: shop-team
facts: {{instances: 1, {facts}}}
operations:
  page:
    transport: local
    facts: {{rate: {rate}}}
    calls: [{{to: price_api.get_price}}]
---
version: 1
service: price_api
owner: price-team
operations:
  get_price:
    transport: http
    attempt_timeout: {attempt}
    circuit_breaker: {breaker}
    {more}
"""


def test_message_and_place() -> None:
    """10 s + 5 / 50 per second = 10.1 s, and 100 workers last 2 s."""
    (found,) = lint_yaml(policy(), "CB003")
    assert found.message == (
        "price_api.get_price hangs for 10s and 5 failures at 50/s before its circuit can open: "
        "10.1s, but shop has none of its 100 workers left after 2s"
    )
    assert found.span.line == 9
    assert found.related[0].span.line == 17


@pytest.mark.boundary
@pytest.mark.parametrize(("attempt", "count"), [("1999ms", 0), ("2s", 1)])
def test_calls_must_last_long_enough_to_bind_all_workers(
    attempt: str, count: int
) -> None:
    """50/s x 2 s = 100 calls bind the 100 workers; 1.999 s bind 99.95 of them for ever."""
    assert len(lint_yaml(policy(attempt), "CB003")) == count


RETRY = (
    "idempotent: true\n    retry: {max_attempts: %d, retry_after: off, "
    "backoff: {initial: 500ms, multiplier: 1, jitter: none}}"
)


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "threshold", "count"), [(4, 300, 0), (4, 301, 1), (2, 999, 0)]
)
def test_retries_fail_too(attempts: int, threshold: int, count: int) -> None:
    """4 x 0.5 s and 3 waits of 0.5 s are 3.5 s, in which 175 calls come for 100 workers.

    Failing up to 4 x 50/s, 300 have failed 0.5 + 1.5 = 2 s after the hang began, when
    the workers are just gone. Two attempts and a wait bind 50/s x 1.5 s = 75 workers.
    """
    breaker = f"{{failure_threshold: {threshold}}}"
    found = lint_yaml(policy("500ms", breaker, more=RETRY % attempts), "CB003")
    assert [d.message for d in found] == [
        (
            "price_api.get_price hangs for 500ms and 301 failures at up to 200/s before "
            "its circuit can open: 2.005s, but shop has none of its 100 workers left after 2s"
        )
    ] * count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("breaker", "objective", "count"),
    [
        ("{failure_ratio: 50%, minimum_calls: 100}", "3s", 0),
        ("{failure_ratio: 50%, minimum_calls: 100}", "2999ms", 1),
        ("{failure_ratio: 50%, minimum_calls: 101}", "3020ms", 0),
        ("{failure_ratio: 50%, minimum_calls: 101}", "3019ms", 1),
        ("{failure_ratio: 50%, window: 100 calls}", "2200ms", 0),
        ("{failure_ratio: 50%, window: 100 calls}", "2199ms", 1),
        ("{slow_call: {after: 1s, ratio: 20%}}", "2080ms", 0),
        ("{slow_call: {after: 1s, ratio: 20%}}", "2079ms", 1),
        ("{slow_call: {after: 2s, ratio: 20%}}", "1s", 0),
        ("{failure_threshold: 5, failure_ratio: 50%}", "2100ms", 0),
        ("{failure_threshold: 5, failure_ratio: 50%}", "2099ms", 1),
        ("{failure_threshold: 100, mode: observe}", "1s", 0),
    ],
)
def test_failures_that_the_breaker_needs(
    breaker: str, objective: str, count: int
) -> None:
    """An attempt ends after 2 s, then failures come at 50/s.

    50 % of 100 calls are 50, 1 s; of 101 they are 51; of the default 20 they are 10. 20 %
    of 20 slow ones are 4, 0.08 s, and five in a row are 0.1 s. Calls that end as timeouts
    at 2 s are never slow ones of over 2 s.
    """
    text = policy(
        "2s",
        breaker,
        f"workers: 100, objective: {objective}",
        "bulkhead: {max_concurrent: 10}",
    )
    assert len(lint_yaml(text, "CB003")) == count


def test_a_circuit_of_the_service_or_in_redis_sees_more_failures() -> None:
    """Two calls of 50/s are 100/s, and four processes are 200/s: 2.05 s and 2.025 s."""
    calls = "[{to: price_api.get_price}]"
    facts = "workers: 100, objective: 2s"
    more = "bulkhead: {max_concurrent: 10}"
    text = policy("2s", "{failure_threshold: 5, scope: service}", facts, more)
    text = text.replace(
        calls, f"{calls}\n  cart: {{facts: {{rate: 50/s}}, calls: {calls}}}"
    )
    found = lint_yaml(text, "CB003")
    assert ["5 failures at 100/s" in d.message for d in found] == [True, True]
    assert found[0].message.endswith("open: 2.05s, over the objective 2s of shop")
    text = policy("2s", "{failure_threshold: 5, store: redis}", facts, more, "200/s")
    text = text.replace("instances: 1", "instances: 4").replace(
        "owner: price-team", "owner: p\nredis: {url_env: POLICY_REDIS_URL}"
    )
    (single,) = lint_yaml(text, "CB003")
    assert "5 failures at 200/s before its circuit can open: 2.025s" in single.message


@pytest.mark.boundary
@pytest.mark.parametrize(("slots", "count"), [(99, 0), (100, 1)])
def test_a_bulkhead_smaller_than_the_workers_protects(slots: int, count: int) -> None:
    """99 slots leave one of 100 workers free; a bulkhead as large as they is none."""
    text = policy(more=f"bulkhead: {{max_concurrent: {slots}}}")
    assert len(lint_yaml(text, "CB003")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("objective", "count"), [("10100ms", 0), ("10s", 1)])
def test_objective_of_the_caller(objective: str, count: int) -> None:
    """10 s + 5 / 50 per second = 10.1 s: behind a bulkhead the objective is left."""
    text = policy(
        facts=f"workers: 100, objective: {objective}",
        more="bulkhead: {max_concurrent: 10}",
    )
    found = lint_yaml(text, "CB003")
    assert len(found) == count
    if found:
        assert found[0].message.endswith("10.1s, over the objective 10s of shop")


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("stated", "lacking"),
    [
        ("workers: 100", "shop.facts.workers"),
        ("instances: 1, ", "shop.facts.instances"),
        ("    facts: {rate: 50/s}\n", "shop.operations.page.facts.rate"),
    ],
)
def test_missing_facts_are_named(stated: str, lacking: str) -> None:
    """Workers, processes and traffic are needed."""
    result = run_yaml(policy().replace(stated, "", 1), "CB003")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [lacking]


@pytest.mark.missing_facts
def test_without_an_objective_a_bulkhead_is_protection_enough() -> None:
    """Nothing was promised, and the workers are safe, so nothing is asked for."""
    result = run_yaml(policy(more="bulkhead: {max_concurrent: 10}"), "CB003")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


@pytest.mark.missing_facts
def test_an_objective_that_is_kept_still_lacks_workers() -> None:
    """10.1 s are within 11 s, and how long the workers last is unknown."""
    result = run_yaml(policy(facts="objective: 11s"), "CB003")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["shop.facts.workers"]


@pytest.mark.boundary
@pytest.mark.parametrize(("mode", "count"), [("sequential", 1), ("parallel", 0)])
def test_parallel_calls_of_a_request_hold_one_worker(mode: str, count: int) -> None:
    """20 calls in parallel hold one worker: 50/s x 1.9 s = 95 of the 100 for ever."""
    text = policy("1900ms").replace(
        "get_price}]", f"get_price, per_request: 20, mode: {mode}}}]"
    )
    assert len(lint_yaml(text, "CB003")) == count


def test_a_single_worker_is_said_as_one() -> None:
    """One worker is gone with the first call, after 1 / 50 per second."""
    (found,) = lint_yaml(policy(facts="workers: 1"), "CB003")
    assert found.message.endswith("but shop has no worker left after 20ms")
