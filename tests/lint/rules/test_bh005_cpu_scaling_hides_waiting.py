"""BH005: services that scale on CPU while their workers wait."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    attempt: str = "800ms", metric: str = "cpu", workers: str = "workers: 100, "
) -> str:
    """shop, one process at 50/s, calls price_api.get_price."""
    return f"""\
version: 1
service: shop
owner: shop-team
facts: {{instances: 1, {workers}autoscale: {{metric: {metric}, target: 0.6}}}}
operations:
  page:
    transport: local
    facts: {{rate: 50/s}}
    calls: [{{to: price_api.get_price}}]
---
version: 1
service: price_api
owner: price-team
operations:
  get_price: {{transport: http, attempt_timeout: {attempt}}}
"""


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "metric", "count"),
    [
        ("600ms", "cpu", 1),
        ("599ms", "cpu", 0),
        ("800ms", "CPU", 1),
        ("800ms", "concurrency", 0),
    ],
)
def test_boundaries(attempt: str, metric: str, count: int) -> None:
    """50/s x 0.6 s bind just 30 of 100 workers."""
    found = lint_yaml(policy(attempt, metric), "BH005")
    assert [d.severity for d in found] == [Severity.INFO] * count


def test_message_and_place() -> None:
    """The metric is the place, the hanging callee is named."""
    (found,) = lint_yaml(policy(), "BH005")
    assert found.message == (
        "shop scales on cpu, but if price_api.get_price hangs, 50/s x 800ms = 40 calls "
        "wait and use none: 40% of its 100 workers"
    )
    assert found.policy_path == "shop.facts.autoscale.metric"


@pytest.mark.boundary
@pytest.mark.parametrize(("attempt", "count"), [("1s", 1), ("999ms", 0)])
def test_share_can_be_set(attempt: str, count: int) -> None:
    """50/s x 1 s = 50 are half of 100 workers."""
    settings = {"BH005": {"share": "50%"}}
    assert len(lint_yaml(policy(attempt), "BH005", thresholds=settings)) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("budget", "count"), [("599ms", 0), ("600ms", 1)])
def test_a_budget_may_end_the_hang_first(budget: str, count: int) -> None:
    """An attempt of 0.8 s under a budget of 0.6 s binds 50/s x 0.6 s = 30 workers."""
    assert len(lint_yaml(policy(f"800ms, budget: {budget}"), "BH005")) == count


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("stated", "lacking"),
    [
        ("workers: 100, ", "shop.facts.workers"),
        ("instances: 1, ", "shop.facts.instances"),
        ("    facts: {rate: 50/s}\n", "shop.operations.page.facts.rate"),
    ],
)
def test_missing_facts_are_named(stated: str, lacking: str) -> None:
    """Without workers, processes or traffic the share is unknown."""
    result = run_yaml(policy().replace(stated, "", 1), "BH005")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [lacking]


@pytest.mark.missing_facts
def test_without_a_scaler_nothing_is_lacking() -> None:
    """A service that does not state what it scales on is taken as not scaled."""
    text = policy().replace("autoscale: {metric: cpu, target: 0.6}", "domain: a")
    result = run_yaml(text, "BH005")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())


def test_work_in_the_process_uses_its_cpu() -> None:
    """A local operation does not wait for anybody, and a detached call holds no worker."""
    local = policy().replace("{transport: http,", "{transport: local,")
    assert lint_yaml(local, "BH005") == []
    detached = policy().replace("get_price}]", "get_price, mode: detached}]")
    assert lint_yaml(detached, "BH005") == []
