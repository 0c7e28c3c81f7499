"""TD-14: an attempt that may last longer than the whole call is an error of lint.

https://github.com/istio/istio/issues/13167
"""

from __future__ import annotations

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


def test_attempt_over_budget_fails_lint() -> None:
    """With retries, an attempt as long as the budget leaves none of them room."""
    text = operation_yaml(
        "transport: http\nidempotent: true\nattempt_timeout: 2s\nbudget: 1s\nretry: {}"
    )
    (found,) = lint_yaml(text, "TB003")
    assert found.severity is Severity.ERROR
