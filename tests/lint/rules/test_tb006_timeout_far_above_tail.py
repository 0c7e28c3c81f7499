"""TB006: timeouts so long that they bind the caller's workers."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    attempt: str = "30s",
    latency: str = "{p99: 200ms}",
    workers: str = "workers: 200",
    rate: str = "500/s",
    mode: str = "sequential",
) -> str:
    """shop calls price_api.get_price."""
    return f"""\
version: 1
service: shop
owner: shop-team
facts: {{instances: 2, {workers}}}
operations:
  page:
    transport: local
    facts: {{rate: {rate}}}
    calls: [{{to: price_api.get_price, mode: {mode}}}]
---
version: 1
service: price_api
owner: price-team
operations:
  get_price:
    transport: http
    facts: {{latency: {latency}}}
    attempt_timeout: {attempt}
"""


def test_message_and_places() -> None:
    """250 calls/s of each of two processes last 30 s: 7,500 against 200 workers."""
    (found,) = lint_yaml(policy(), "TB006")
    assert found.message == (
        "attempt_timeout 30s is 150 times the p99 of 200ms; if price_api.get_price "
        "hangs, 250/s x 30s = 7500 calls bind 100% of the 200 workers of shop"
    )
    assert found.help == "set attempt_timeout: 600ms"
    assert found.span.line == 9
    assert [(r.span.line, r.message) for r in found.related] == [
        (18, "attempt_timeout.total of the callee")
    ]
    assert found.policy_path == (
        "shop.operations.page.calls[price_api.get_price].attempt_timeout.total"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "latency", "count"),
    [
        ("2s", "{p99: 200ms}", 0),
        ("2001ms", "{p99: 200ms}", 1),
        ("2s", "{mean: 20ms}", 0),
        ("2001ms", "{mean: 20ms}", 1),
        ("2001ms", "{mean: 20ms, p99: 300ms}", 1),
        ("2001ms", "{mean: 20ms, p99: 666ms}", 1),
        ("2001ms", "{mean: 20ms, p99: 667ms}", 0),
    ],
)
def test_how_far_above(attempt: str, latency: str, count: int) -> None:
    """Ten times the p99 and a hundred times the mean are still allowed.

    So is three times the p99, 3 x 667 ms = 2.001 s, whatever the mean.
    """
    assert len(lint_yaml(policy(attempt, latency), "TB006")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("40/s", 0), ("40.1/s", 1)])
def test_half_of_the_workers_may_be_bound(rate: str, count: int) -> None:
    """20/s of each process for 5 s bind 100 of 200 workers: exactly half."""
    assert len(lint_yaml(policy("5s", rate=rate), "TB006")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("thresholds", "attempt", "latency", "count"),
    [
        ({"p99_factor": 20}, "4s", "{p99: 200ms}", 0),
        ({"p99_factor": 20}, "4001ms", "{p99: 200ms}", 1),
        ({"mean-factor": 200}, "4s", "{mean: 20ms}", 0),
        ({"mean-factor": 200}, "4001ms", "{mean: 20ms}", 1),
        ({"worker_share": "62.5%"}, "500ms", "{p99: 40ms}", 0),
        ({"worker_share": "62.5%"}, "501ms", "{p99: 40ms}", 1),
    ],
)
def test_thresholds_can_be_set(
    thresholds: dict[str, object], attempt: str, latency: str, count: int
) -> None:
    """20 x 0.2 s and 200 x 0.02 s are 4 s; 250/s x 0.5 s = 125 are 62.5 % of 200."""
    found = lint_yaml(
        policy(attempt, latency), "TB006", thresholds={"TB006": thresholds}
    )
    assert len(found) == count


@pytest.mark.parametrize(
    ("latency", "better"), [("{p99: 200ms}", "600ms"), ("{mean: 20ms}", "600ms")]
)
def test_advice_ends_the_finding(latency: str, better: str) -> None:
    """Three times the p99, or thirty times the mean where that is all there is."""
    (found,) = lint_yaml(policy(latency=latency), "TB006")
    assert found.help == f"set attempt_timeout: {better}"
    assert found.fix is None, "the timeout is the callee's, in another document"
    text = policy(latency=latency).replace(
        "mode: sequential}", "override: {attempt_timeout: 40s}}"
    )
    (own,) = [d for d in lint_yaml(text, "TB006") if "override" in d.policy_path]
    assert own.fix is not None
    assert [edit.text for edit in own.fix.edits] == [better]
    assert lint_yaml(policy(better, latency), "TB006") == []


@pytest.mark.parametrize("timeout", ["off", "{connect: 30s}"])
def test_calls_without_a_limit_are_not_measured(timeout: str) -> None:
    """TB001 speaks of these."""
    result = run_yaml(policy(timeout), "TB006")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


def test_a_latency_of_nothing_gets_no_number() -> None:
    """Three times 0 s is no timeout, so the help stays general."""
    (found,) = lint_yaml(policy(latency="{p99: 0s}"), "TB006")
    assert found.help == "set attempt_timeout: three times the p99"
    assert found.fix is None


def test_detached_calls_bind_nobody() -> None:
    """The caller does not wait for them."""
    assert lint_yaml(policy(mode="detached"), "TB006") == []


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("gone", "absent"),
    [
        ("instances: 2, ", ["shop.facts.instances"]),
        (", workers: 200", ["shop.facts.workers"]),
        ("    facts: {rate: 500/s}\n", ["shop.operations.page.facts.rate"]),
        (
            "    facts: {latency: {p99: 200ms}}\n",
            ["price_api.operations.get_price.facts.latency.p99"],
        ),
    ],
)
def test_each_missing_fact_is_named(gone: str, absent: list[str]) -> None:
    """Every fact is needed, and asked for where it belongs."""
    assert gone in policy()
    result = run_yaml(policy().replace(gone, ""), "TB006")
    assert result.diagnostics == ()
    assert [skip.fact for skip in result.coverage.skipped] == absent


@pytest.mark.missing_facts
def test_missing_facts_are_named() -> None:
    """Latency first; workers only where the timeout is far above it."""
    result = run_yaml(policy(workers="domain: a"), "TB006")
    assert [skip.fact for skip in result.coverage.skipped] == ["shop.facts.workers"]
    unknown = run_yaml(policy(latency="{p50: 1ms}"), "TB006")
    assert [skip.fact for skip in unknown.coverage.skipped] == [
        "price_api.operations.get_price.facts.latency.p99"
    ]


def test_an_override_is_the_place() -> None:
    """The caller's own timeout is reported where the caller sets it."""
    text = policy("1s").replace(
        "mode: sequential}", "override: {attempt_timeout: 40s}}"
    )
    (found,) = lint_yaml(text, "TB006")
    assert (found.span.line, found.span.column) == (9, 67)
    assert found.policy_path.endswith(".override.attempt_timeout.total")


def test_a_bulkhead_limits_what_hangs() -> None:
    """Of 7500 calls, 110 have a slot: 55 % of 200 workers; 100 would be half, and fine."""
    for slots, count in ((110, 1), (100, 0)):
        text = policy().replace(
            "attempt_timeout: 30s",
            f"attempt_timeout: 30s\n    bulkhead: {{max_concurrent: {slots}}}",
        )
        found = lint_yaml(text, "TB006")
        assert len(found) == count
        if found:
            assert found[0].message.endswith(
                "110 calls with a slot of its bulkhead bind 55% of the 200 workers of shop"
            )
