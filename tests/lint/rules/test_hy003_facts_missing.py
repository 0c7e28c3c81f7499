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


TAIL = "transport: http\nfacts: {latency: {p50: 2s}}\nattempt_timeout: 1s\nbudget: 3s\n"


def test_a_rule_that_found_something_could_look_closer() -> None:
    """TB005 reports a timeout below the median; the p99 would only add to that."""
    found = lint_yaml(operation_yaml(TAIL), "TB005", "HY003")
    (summary,) = (d for d in found if d.code == "HY003")
    assert "TB005" in [d.code for d in found]
    assert summary.message == (
        "1 rule could look closer at payment_api, for want of 1 fact"
    )
    assert summary.help == "add operations.charge.facts.latency.p99 (TB005)"


def test_blind_and_short_sighted_rules_are_counted_apart() -> None:
    """QU001 found something and would be surer; CB001 and CB007 could not look."""
    text = operation_yaml(BREAKER, service="inbound: {rate_limit: {rate: 500/s}}")
    found = lint_yaml(text, "CB001", "CB007", "QU001", "HY003")
    assert [d.message for d in found if d.code == "HY003"] == [
        (
            "2 rules could not look at payment_api, and 1 could look closer, for want of "
            "4 facts"
        )
    ]


def test_a_rule_that_is_blind_at_one_place_could_not_look() -> None:
    """TB005 found something at one operation and could not look at another."""
    text = operation_yaml(TAIL) + (
        "  refund:\n    transport: http\n    attempt_timeout: 1s\n    budget: 3s\n"
    )
    found = lint_yaml(text, "TB005", "HY003")
    assert [d.message for d in found if d.code == "HY003"] == [
        "1 rule could not look at payment_api for want of 2 facts"
    ]


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
