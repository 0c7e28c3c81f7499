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
        (
            "{hit_ratio: 95%, coalesced: true}",
            "inbound: {bulkhead: {max_concurrent: 30, mode: observe}}",
            Severity.WARNING,
        ),
    ],
)
def test_protections(cache: str, service: str, severity: Severity | None) -> None:
    """Coalescing and admission are both needed."""
    found = lint_yaml(policy(cache, service=service), "FB003")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("300/s", 1), ("299/s", 0)])
def test_boundary(rate: str, count: int) -> None:
    """300/s are the whole capacity of 300/s once the cache is empty."""
    assert len(lint_yaml(policy(rate=rate), "FB003")) == count


def test_message() -> None:
    """Warm and cold load are printed: 3,000/s x 5 % = 150/s, and 20 times that."""
    (found,) = lint_yaml(policy(), "FB003")
    assert found.message == (
        "3000/s with 95% hits are 150/s at payment_api; with an empty cache all 3000/s, "
        "20 times as much, against a capacity of 300/s"
    )


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("stated", "lacking"),
    [
        ("capacity: 300/s, ", ["facts.capacity"]),
        ("rate: 3000/s", ["operations.charge.facts.rate"]),
        ("hit_ratio: 95%", ["facts.cache.hit_ratio"]),
        ("cache: {hit_ratio: 95%}", []),
    ],
)
def test_missing_facts_are_named(stated: str, lacking: list[str]) -> None:
    """A stated cache needs numbers; a service that states none has none."""
    result = run_yaml(policy().replace(stated, "", 1), "FB003")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        f"payment_api.{fact}" for fact in lacking
    ]


@pytest.mark.missing_facts
def test_a_protected_origin_lacks_nothing() -> None:
    """With coalescing and an inbound limit the numbers decide nothing."""
    text = policy("{coalesced: true}", capacity="", service=INBOUND)
    result = run_yaml(text, "FB003")
    assert (result.diagnostics, result.coverage.skipped) == ((), ())
