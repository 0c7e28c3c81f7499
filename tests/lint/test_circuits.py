"""What one circuit sees: of one process, of a service, of a fleet."""

from __future__ import annotations

import pytest

from policyctl.lint.circuits import Seen, grows, seen_by, seen_from
from policyctl.lint.context import Context
from policyctl.lint.testing import load_yaml
from policyctl.resolve.policy import Recovery

BREAKERS = {
    "own": "{}",
    "service": "{scope: service}",
    "redis": "{store: redis}",
    "both": "{scope: service, store: redis}",
    "keys": '{scope: "argument:shop"}',
}


def context(
    breaker: str, rate: str = "rate: 20/s, ", callers: str = "callers: 4"
) -> Context:
    """price_api: two operations of 20/s by 4 processes share a kind of circuit.

    A third, of 40/s, has a circuit of its own in any case.
    """
    return Context(
        load_yaml(
            "version: 1\nservice: price_api\nredis: {url_env: POLICY_REDIS_URL}\n"
            "defaults: {transport: http, idempotent: true, attempt_timeout: 1s}\n"
            "operations:\n"
            f"  get: {{facts: {{{rate}{callers}}}, circuit_breaker: {breaker}}}\n"
            f"  put: {{facts: {{rate: 20/s, callers: 4}}, circuit_breaker: {breaker}}}\n"
            "  drop: {facts: {rate: 40/s, callers: 4}, circuit_breaker: {}}\n"
        )
    )


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        ("own", Seen(5.0, 4, (), "each")),
        ("service", Seen(10.0, 4, (), "each")),
        ("redis", Seen(20.0, 1, (), "all")),
        ("both", Seen(40.0, 1, (), "all")),
        ("keys", Seen(5.0, 4, (), "each")),
    ],
)
def test_what_an_operation_s_circuit_counts(kind: str, seen: Seen) -> None:
    """20/s of 4 processes are 5/s each; two operations 10/s; in Redis 20/s and 40/s."""
    found = context(BREAKERS[kind])
    for site in found.sites[:2]:
        breaker = site.policy.circuit_breaker
        assert breaker is not None
        assert seen_by(site, breaker, found) == seen


@pytest.mark.parametrize(
    ("kind", "rate", "callers", "lacking"),
    [
        ("own", "", "callers: 4", ["rate"]),
        ("own", "rate: 20/s, ", "latency: {p50: 1s}", ["callers"]),
        ("service", "", "latency: {p50: 1s}", ["rate", "callers"]),
        ("redis", "rate: 20/s, ", "latency: {p50: 1s}", []),
        ("both", "", "latency: {p50: 1s}", ["rate"]),
    ],
)
def test_facts_that_a_circuit_lacks(
    kind: str, rate: str, callers: str, lacking: list[str]
) -> None:
    """One operation without a fact is enough; in Redis nobody counts processes."""
    found = context(BREAKERS[kind], rate, callers)
    site = found.sites[0]
    breaker = site.policy.circuit_breaker
    assert breaker is not None
    seen = seen_by(site, breaker, found)
    assert (seen.rate is None) == bool(lacking)
    assert list(seen.missing) == [
        f"price_api.operations.get.facts.{fact}" for fact in lacking
    ]


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        ("own", Seen(3.0, 2, (), "each")),
        ("service", Seen(9.0, 2, (), "each")),
        ("redis", Seen(6.0, 1, (), "all")),
        ("both", Seen(18.0, 1, (), "all")),
    ],
)
def test_what_the_circuit_of_a_caller_counts(kind: str, seen: Seen) -> None:
    """shop, two processes, makes 6/s and 2 x 6/s calls of two operations."""
    breaker = BREAKERS[kind]
    found = Context(
        load_yaml(
            "version: 1\nservice: shop\nfacts: {instances: 2}\noperations:\n"
            "  page: {transport: local, facts: {rate: 6/s}, calls: "
            "[{to: price_api.get}, {to: price_api.put, per_request: 2}]}\n"
            "---\nversion: 1\nservice: price_api\nredis: {url_env: POLICY_REDIS_URL}\n"
            f"defaults: {{transport: http, circuit_breaker: {breaker}}}\n"
            "operations: {get: {}, put: {}}\n"
        )
    )
    edge = next(iter(found.graph.edges()))
    assert edge.policy is not None
    assert seen_from(edge, edge.policy, found) == seen


@pytest.mark.parametrize(
    ("multiplier", "most", "expected"),
    [
        (1.0, None, False),
        (2.0, None, True),
        (2.0, 60.0, True),
        (2.0, 30.0, False),
        (0.5, None, False),
    ],
)
def test_growing_breaks(multiplier: float, most: float | None, expected: bool) -> None:
    """A break of 30 s grows by a factor over 1 towards a limit over 30 s."""
    assert grows(Recovery(30.0, multiplier, most, 0.0)) == expected
