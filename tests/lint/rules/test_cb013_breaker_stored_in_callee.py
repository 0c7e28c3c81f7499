"""CB013: a shared breaker whose store is what it protects."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ("transport: redis\ncircuit_breaker: {store: redis}", ["circuit_breaker"]),
        ("transport: redis\ncircuit_breaker: {}", []),
        ("transport: http\ncircuit_breaker: {store: redis}", []),
        ("transport: redis\nrate_limit: {rate: 9/s, store: redis}", ["rate_limit"]),
    ],
)
def test_stores(settings: str, keys: list[str]) -> None:
    """Only a Redis whose state lives in a Redis is reported."""
    text = operation_yaml(settings, "redis: {url_env: POLICY_REDIS_URL}")
    found = lint_yaml(text, "CB013")
    assert [d.message for d in found] == [
        f"payment_api.charge is a Redis, and its {key} keeps its shared state in one"
        for key in keys
    ]
