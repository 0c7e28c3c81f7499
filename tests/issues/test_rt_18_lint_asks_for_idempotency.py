"""RT-18: a retry of work that may have been done is an error of lint.

https://github.com/istio/istio/issues/13851
https://github.com/istio/istio/issues/17145
"""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.parametrize("nature", ["idempotent: false\n", ""])
def test_retry_of_what_may_have_arrived_fails_lint(nature: str) -> None:
    """Not idempotent, or not stated, and retried after a timeout."""
    text = operation_yaml(f"transport: http\n{nature}retry: {{retry_on: [timeout]}}")
    (found,) = lint_yaml(text, "ID001")
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    "settings",
    [
        "retry: {}",
        "idempotent: true\nretry: {retry_on: [timeout]}",
        (
            "retry: {retry_on: [timeout]}\n"
            "idempotency: {key: [id], forward: {header: Idempotency-Key}}"
        ),
    ],
)
def test_the_default_and_declared_operations_pass(settings: str) -> None:
    """Connect errors alone by default; idempotent work and forwarded keys are safe."""
    assert lint_yaml(operation_yaml(f"transport: http\n{settings}"), "ID001") == []
