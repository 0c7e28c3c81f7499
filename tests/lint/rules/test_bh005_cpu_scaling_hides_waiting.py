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


def test_missing_workers_are_named() -> None:
    """Without workers the share is unknown."""
    result = run_yaml(policy(workers=""), "BH005")
    assert [s.fact for s in result.coverage.skipped] == ["shop.facts.workers"]
