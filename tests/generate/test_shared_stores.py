"""Stores outside the process are generated, with the variable that holds the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policyctl.generate.expressions import inbound_arguments, policy_arguments
from policyctl.generate.support import unsupported
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]

POLICY = """\
version: 1
service: pay
redis: {url_env: PAY_REDIS}
operations:
  charge:
    idempotent: true
    transport: http
    circuit_breaker: {store: redis}
    rate_limit: {rate: 5/s, store: redis}
    idempotency: {key: [order], store: redis}
  quote:
    circuit_breaker: {failure_threshold: 3, record_on: [Exception]}
    rate_limit: {rate: 5/s}
    idempotency: {key: [order], store: sqlite, path: var/keys.db}
"""


def test_the_address_is_printed_where_it_is_needed(load: LoadProject) -> None:
    """Three blocks in Redis name the service's variable; others name nothing."""
    service = load({"pay.yaml": POLICY}).services["pay"]
    assert [f.message for f in unsupported(service)] == []
    charge, quote = (
        "\n".join(policy_arguments("pay", name, service.operations[name], 4))
        for name in ("charge", "quote")
    )
    assert charge.count('store="redis"') == 3
    assert charge.count('url_env="PAY_REDIS"') == 3
    assert "redis" not in quote
    assert "url_env" not in quote
    assert 'store="sqlite", path="var/keys.db"' in " ".join(quote.split())


def test_an_override_of_a_caller_has_the_address_too(load: LoadProject) -> None:
    """The callee's own service says where its Redis is."""
    caller = """\
version: 1
service: shop
calls: [{to: pay.charge, override: {rate_limit: {rate: 2/s, store: redis}}}]
operations: {}
"""
    project = load({"pay.yaml": POLICY, "shop.yaml": caller})
    policy = project.services["shop"].calls[0].policy
    assert policy is not None
    assert policy.rate_limit is not None
    assert (policy.rate_limit.rate, policy.rate_limit.url_env) == (2.0, "PAY_REDIS")


def test_memory_names_no_address(load: LoadProject) -> None:
    """A service with a Redis for something else prints nothing of it."""
    text = POLICY + "inbound: {rate_limit: {rate: 9/s}}\n"
    service = load({"pay.yaml": text}).services["pay"]
    assert service.inbound is not None
    assert "url_env" not in "".join(inbound_arguments("pay", service.inbound))


def test_inbound_names_the_address_too(load: LoadProject) -> None:
    """A rate limit for all servers of the service is printed with its store."""
    text = POLICY + "inbound: {rate_limit: {rate: 9/s, store: redis}}\n"
    service = load({"pay.yaml": text}).services["pay"]
    assert service.inbound is not None
    assert list(unsupported(service)) == []
    printed = "".join(inbound_arguments("pay", service.inbound))
    assert 'store="redis"' in printed
    assert 'url_env="PAY_REDIS"' in printed
