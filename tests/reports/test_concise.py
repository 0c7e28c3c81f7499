"""One line a finding."""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.reports import concise
from policyctl.reports.report import Report


def test_the_whole_report(report: Report) -> None:
    """Place, severity, code, name and message; then notes and the summary."""
    assert concise.render(report) == (
        "policies/gone.yaml:1:1: error[CF201] path-not-found: "
        "policies/gone.yaml does not exist\n"
        "policies/payment.yaml:1:10: info[HY002] no-owner: the service has no owner\n"
        "policies/payment.yaml:4:22: error[TB001] attempt-over-budget: "
        "the attempt timeout of 5s is over the budget of 2s\n"
        "policies/payment.yaml:6:27: warning[RT002] many-attempts: "
        "9 attempts, more than 5\n"
        "note: TB004 needs facts.rate of payment_api.charge\n"
        "2 errors, 1 warning, 1 info in 2 files, 1 service "
        "(1 suppressed, 3 in the baseline)\n"
    )


def test_a_clean_run_says_so(clean: Report) -> None:
    """The summary stands alone."""
    assert concise.render(clean) == "clean: no findings in 1 file, 1 service\n"


def test_a_finding_never_takes_two_lines() -> None:
    """Line breaks of values and of file names are escaped."""
    found = Diagnostic("VA001", "x", Severity.ERROR, "a\nb\u2028c", Span("p\nq.yaml"))
    assert concise.render(Report.of([found])).splitlines()[0] == (
        "p\\x0aq.yaml:1:1: error[VA001] x: a\\x0ab\\u2028c"
    )
