"""JUnit XML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.reports import junit
from policyctl.reports.report import Report

EXPECTED = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="policyctl" tests="6" failures="2" errors="0" skipped="1">
  <testsuite name="policies/gone.yaml" tests="1" failures="1" errors="0" skipped="0">
    <testcase name="CF201 path-not-found 1:1" classname="policies/gone.yaml">
      <failure message="policies/gone.yaml does not exist" type="error">\
policies/gone.yaml:1:1: policies/gone.yaml does not exist
help: check the spelling of the path</failure>
    </testcase>
  </testsuite>
  <testsuite name="policies/payment.yaml" tests="4" failures="1" errors="0" skipped="1">
    <testcase name="HY002 no-owner 1:10" classname="policies/payment.yaml">
      <system-out>info: policies/payment.yaml:1:10: the service has no owner
help: add owner: TEAM</system-out>
    </testcase>
    <testcase name="TB001 attempt-over-budget 4:22" classname="policies/payment.yaml">
      <failure message="the attempt timeout of 5s is over the budget of 2s" \
type="error">policies/payment.yaml:4:22: the attempt timeout of 5s is over the budget of 2s
policies/payment.yaml:5:13: the budget
help: raise budget to 5s or more</failure>
    </testcase>
    <testcase name="RT002 many-attempts 6:27" classname="policies/payment.yaml">
      <system-out>warning: policies/payment.yaml:6:27: 9 attempts, more than 5
policies/presets/http.yaml:3:11: budget of the preset</system-out>
    </testcase>
    <testcase name="CB001 no-breaker 3:3" classname="policies/payment.yaml">
      <skipped message="charge has no circuit breaker (a lease loop)" />
    </testcase>
  </testsuite>
  <testsuite name="policies/presets/http.yaml" tests="1" failures="0" errors="0" \
skipped="0">
    <testcase name="no findings" classname="policies/presets/http.yaml" />
  </testsuite>
</testsuites>
"""


def test_the_whole_report(report: Report) -> None:
    """Failed, passed and skipped cases, a suite for each file."""
    assert junit.render(report) == EXPECTED


def test_what_fails_the_run_is_a_failure(report: Report) -> None:
    """The numbers follow the threshold of the run."""
    for fail_on, failures in ((Severity.WARNING, "3"), (Severity.INFO, "4")):
        root = ElementTree.fromstring(junit.render(replace(report, fail_on=fail_on)))
        assert root.get("failures") == failures


def test_the_document_is_well_formed_whatever_the_words() -> None:
    """Markup and characters that XML cannot hold are escaped."""
    words = '<a> & "b" ]]> \x00\x1b\ud800\ufffe 価'
    found = Diagnostic("VA001", "x", Severity.ERROR, words, Span("p&<q>.yaml"))
    root = ElementTree.fromstring(junit.render(Report.of([found])))
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.get("message") == ('<a> & "b" ]]> \\x00\\x1b\\ud800\\ufffe 価')
    assert [suite.get("name") for suite in root] == ["p&<q>.yaml"]
