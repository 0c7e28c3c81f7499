"""CB-20: a minimum that the declared rate cannot reach is found.

https://github.com/resilience4j/resilience4j/issues/1349
https://github.com/joshrotenberg/mcp-proxy/issues/220
"""

from __future__ import annotations

from policyctl.lint.testing import lint_yaml, operation_yaml


def test_a_minimum_over_what_a_window_holds_is_reported() -> None:
    """2 calls/s of one process for 10 s never make 21."""
    text = operation_yaml(
        "transport: http\nfacts: {rate: 20/s, callers: 10}\n"
        "circuit_breaker: {failure_ratio: 50%%, window: 10s, minimum_calls: %d}"
    )
    assert lint_yaml(text % 20, "CB001") == []
    (found,) = lint_yaml(text % 21, "CB001")
    assert found.message.startswith(
        "one process makes 20 of the 21 calls needed in 10s"
    )
