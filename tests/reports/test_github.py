"""Workflow commands."""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.reports import github
from policyctl.reports.report import Report


def test_the_whole_report(report: Report) -> None:
    """One command a finding with both places and the help, then the log lines."""
    assert github.render(report) == (
        "::error file=policies/gone.yaml,line=1,endLine=1,title=CF201 path-not-found,"
        "col=1,endColumn=1::policies/gone.yaml does not exist"
        "%0Ahelp: check the spelling of the path\n"
        "::notice file=policies/payment.yaml,line=1,endLine=1,title=HY002 no-owner,"
        "col=10,endColumn=21::the service has no owner%0Ahelp: add owner: TEAM\n"
        "::error file=policies/payment.yaml,line=4,endLine=4,"
        "title=TB001 attempt-over-budget,col=22,endColumn=24::"
        "the attempt timeout of 5s is over the budget of 2s"
        "%0Apolicies/payment.yaml:5:13: the budget"
        "%0Ahelp: raise budget to 5s or more\n"
        "::warning file=policies/payment.yaml,line=6,endLine=6,"
        "title=RT002 many-attempts,col=27,endColumn=28::9 attempts, more than 5"
        "%0Apolicies/presets/http.yaml:3:11: budget of the preset\n"
        "note: TB004 needs facts.rate of payment_api.charge\n"
        "2 errors, 1 warning, 1 info in 2 files, 1 service "
        "(1 suppressed, 3 in the baseline)\n"
    )


def test_everything_that_ends_a_command_is_escaped() -> None:
    """Percent signs, line breaks, and in properties colons and commas."""
    found = Diagnostic(
        "VA001",
        "x",
        Severity.WARNING,
        "50% of\n::error::a, b",
        Span("p%,:q.yaml", 2, 3, 4, 5),
        help="use 0.5, or\r50%",
    )
    assert github.render(Report.of([found])).splitlines()[0] == (
        "::warning file=p%25%2C%3Aq.yaml,line=2,endLine=4,title=VA001 x::"
        "50%25 of\\x0a::error::a, b%0Ahelp: use 0.5, or\\x0d50%25"
    )


def test_a_clean_run_says_so(clean: Report) -> None:
    """The log holds the summary, and no command."""
    assert github.render(clean) == "clean: no findings in 1 file, 1 service\n"
