"""FB003: caches that hide more load than the origin can take."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(
    cache: str = "{hit_ratio: 95%}",
    capacity: str = "capacity: 300/s, ",
    service: str = "",
    rate: str = "3000/s",
) -> str:
    """An operation behind a cache."""
    return operation_yaml(
        f"transport: http\nfacts: {{rate: {rate}}}",
        f"facts: {{{capacity}cache: {cache}}}\n{service}",
    )


INBOUND = "inbound: {bulkhead: {max_concurrent: 30}}"


@pytest.mark.parametrize(
    ("cache", "service", "severity"),
    [
        ("{hit_ratio: 95%}", "", Severity.ERROR),
        ("{hit_ratio: 95%}", INBOUND, Severity.ERROR),
        ("{hit_ratio: 95%, coalesced: false}", INBOUND, Severity.ERROR),
        ("{hit_ratio: 95%, coalesced: true}", "", Severity.WARNING),
        ("{hit_ratio: 95%, coalesced: true}", INBOUND, None),
    ],
)
def test_protections(cache: str, service: str, severity: Severity | None) -> None:
    """Coalescing and admission are both needed."""
    found = lint_yaml(policy(cache, service=service), "FB003")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


@pytest.mark.parametrize(("rate", "count"), [("300/s", 1), ("299/s", 0)])
def test_boundary(rate: str, count: int) -> None:
    """As many requests as capacity are too many for an empty cache."""
    assert len(lint_yaml(policy(rate=rate), "FB003")) == count


def test_message() -> None:
    """Warm and cold load are printed: 3,000/s x 5 % = 150/s, and 20 times that."""
    (found,) = lint_yaml(policy(), "FB003")
    assert found.message == (
        "3000/s with 95% hits are 150/s at payment_api; with an empty cache all 3000/s, "
        "20 times as much, against a capacity of 300/s"
    )


def test_missing_capacity_is_named() -> None:
    """Without capacity nothing is proved."""
    result = run_yaml(policy(capacity=""), "FB003")
    assert [s.fact for s in result.coverage.skipped] == ["payment_api.facts.capacity"]
