"""Reports to print: one small run with findings of every kind, and a clean one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policyctl.diagnostics import (
    Diagnostic,
    Edit,
    Fix,
    Related,
    Severity,
    Span,
    Suppressed,
)
from policyctl.reports.report import Report
from policyctl.source.decode import line_starts
from policyctl.source.nodes import Source

TEXT = """\
service: payment_api
operations:
  charge:
    attempt_timeout: 5s
    budget: 2s  # short
    retry: {max_attempts: 9}
"""
PRESET = "preset: http-client\ndefaults:\n  budget: 15s\n"


def source_of(path: str, text: str) -> Source:
    """A text as the reader holds it."""
    return Source(path, text, False, line_starts(text))


def span_of(source: Source, words: str) -> Span:
    """The place of ``words`` in a text."""
    start = source.text.index(words)
    return source.span(start, start + len(words))


@pytest.fixture
def place() -> Callable[[str, str, str], Span]:
    """A function from path, text and words to a span."""
    return lambda path, text, words: span_of(source_of(path, text), words)


@pytest.fixture
def report() -> Report:
    """An error with a second place and a fix, a warning from a preset, and more."""
    policy = source_of("policies/payment.yaml", TEXT)
    preset = source_of("policies/presets/http.yaml", PRESET)
    budget = span_of(policy, "2s")
    error = Diagnostic(
        "TB001",
        "attempt-over-budget",
        Severity.ERROR,
        "the attempt timeout of 5s is over the budget of 2s",
        span_of(policy, "5s"),
        (Related(budget, "the budget"),),
        "raise budget to 5s or more",
        "payment_api.operations.charge.attempt_timeout",
        Fix("raise budget to 5s", (Edit(budget, "5s"),), safe=False),
    )
    warning = Diagnostic(
        "RT002",
        "many-attempts",
        Severity.WARNING,
        "9 attempts, more than 5",
        span_of(policy, "9"),
        (Related(span_of(preset, "15s"), "budget of the preset"),),
        policy_path="payment_api.operations.charge.retry.max_attempts",
    )
    info = Diagnostic(
        "HY002",
        "no-owner",
        Severity.INFO,
        "the service has no owner",
        span_of(policy, "payment_api"),
        help="add owner: TEAM",
        policy_path="payment_api",
    )
    missing = Diagnostic(
        "CF201",
        "path-not-found",
        Severity.ERROR,
        "policies/gone.yaml does not exist",
        Span("policies/gone.yaml"),
        help="check the spelling of the path",
    )
    hidden = Diagnostic(
        "CB001",
        "no-breaker",
        Severity.WARNING,
        "charge has no circuit breaker",
        span_of(policy, "charge"),
        policy_path="payment_api.operations.charge",
    ).hidden_by(Suppressed("a lease loop", span_of(policy, "# short")))
    return Report.of(
        [warning, hidden, missing, error, info, error],
        {source.path: source for source in (policy, preset)},
        services=1,
        baselined=3,
        notes=["TB004 needs facts.rate of payment_api.charge"],
    )


@pytest.fixture
def clean() -> Report:
    """A run without findings."""
    source = source_of("policies/payment.yaml", TEXT)
    return Report.of([], {source.path: source}, services=1)
