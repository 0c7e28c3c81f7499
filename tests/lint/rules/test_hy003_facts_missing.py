"""HY003: what lint cannot see, and suppressions that do not say why."""

from __future__ import annotations

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

BREAKER = (
    "transport: http\nidempotent: true\n"
    "circuit_breaker: {failure_ratio: 50%, window: 10s}\n"
)


def test_missing_facts_are_listed_with_what_they_unlock() -> None:
    """One finding for a service; the fact that unlocks most rules comes first."""
    text = operation_yaml(BREAKER)
    (found,) = lint_yaml(text, "CB001", "CB007", "HY003")
    assert found.severity is Severity.INFO
    assert found.message == (
        "2 rules could not look at payment_api for want of 3 facts"
    )
    assert found.help == (
        "add operations.charge.facts.callers (CB001, CB007), "
        "operations.charge.facts.rate (CB001, CB007), "
        "operations.charge.facts.latency.p50 (CB007)"
    )
    assert found.policy_path == "payment_api.facts"


def test_rules_that_do_not_run_need_no_facts() -> None:
    """A deselected rule asks for nothing."""
    assert lint_yaml(operation_yaml(BREAKER), "HY003") == []


def test_stated_facts_are_enough() -> None:
    """With all facts nothing is missing."""
    facts = "facts: {rate: 40/s, callers: 4, latency: {p50: 80ms}}"
    assert lint_yaml(operation_yaml(BREAKER + facts), "CB0", "HY003") == []


def test_owner() -> None:
    """Lint asks for an owner, at the service's name."""
    text = operation_yaml("transport: http").replace("owner: payments-team\n", "")
    (found,) = lint_yaml(text, "HY003")
    assert found.message == "payment_api has no owner"
    assert (found.span.line, found.span.column) == (2, 10)


def test_suppressions_need_a_reason() -> None:
    """A comment without a reason is a warning; an end date is none."""
    retry = "transport: http\nidempotent: true\nretry: {max_attempts: 4}"
    silent = operation_yaml(f"{retry}  # policyctl: ignore[RT001]")
    (found,) = lint_yaml(silent, "HY003", "RT001")
    assert found.severity is Severity.WARNING
    assert found.message == "the suppression of RT001 gives no reason"
    dated = operation_yaml(f"{retry}  # policyctl: ignore[RT001] until=2030-01-01")
    assert len(lint_yaml(dated, "HY003", "RT001")) == 1
    said = operation_yaml(f"{retry}  # policyctl: ignore[RT001] the vendor asks for it")
    assert lint_yaml(said, "HY003", "RT001") == []


def test_it_can_be_suppressed_itself() -> None:
    """Facts that nobody can know are waived for the service, with a reason."""
    text = operation_yaml(
        BREAKER, service='ignore: [{rule: HY003, reason: "traffic is not measured"}]'
    )
    result = run_yaml(text, "CB001", "HY003")
    assert [d.suppressed is not None for d in result.diagnostics] == [True]
