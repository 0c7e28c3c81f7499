"""Workers that a hanging callee binds."""

from __future__ import annotations

import pytest

from policyctl.lint.hanging import hanging
from policyctl.lint.testing import load_yaml, operation_yaml


@pytest.mark.parametrize(
    ("bulkhead", "calls", "text"),
    [
        ("", 30.0, "10/s x 3s = 30 calls"),
        ("{max_concurrent: 30}", 30.0, "10/s x 3s = 30 calls"),
        ("{max_concurrent: 29}", 29.0, "29 calls with a slot of its bulkhead"),
        ("{max_concurrent: 2, mode: observe}", 30.0, "10/s x 3s = 30 calls"),
    ],
)
def test_calls_in_flight(bulkhead: str, calls: float, text: str) -> None:
    """Little's law, cut by a bulkhead that rejects; 40 workers are all that can wait."""
    own = f"\nbulkhead: {bulkhead}" if bulkhead else ""
    policy = load_yaml(operation_yaml(f"transport: http{own}")).find_operation(
        "payment_api.charge"
    )
    assert policy is not None
    found = hanging(policy, 10.0, 3.0)
    assert (found.calls, found.text) == (calls, text)
    assert found.share(40) == calls / 40
    assert found.share(10) == 1.0
