"""``junit``: XML for servers that show test results; a file is a suite.

A finding at or above ``fail_on`` is a failed case, one below a passed case with output,
a suppressed one a skipped case; a file without any is one passed case. There is no time
and no host name in it, so that equal runs give equal bytes. Only ASCII is printed.
"""

from __future__ import annotations

from xml.etree import ElementTree

from policyctl.diagnostics import Diagnostic
from policyctl.reports.encode import one_line
from policyctl.reports.report import Report

MACHINE = True


def render(report: Report) -> str:
    """Return the report as a JUnit XML document."""
    by_path: dict[str, list[Diagnostic]] = {path: [] for path in report.sources}
    for finding in (*report.findings, *report.suppressed):
        by_path.setdefault(finding.span.path, []).append(finding)
    root = ElementTree.Element("testsuites", name="policyctl")
    for path in sorted(by_path):
        _suite(root, path, by_path[path], report)
    totals = {
        key: str(sum(int(suite.get(key, "0")) for suite in root))
        for key in ("tests", "failures", "errors", "skipped")
    }
    root.attrib.update(totals)
    ElementTree.indent(root)
    body: str = ElementTree.tostring(root, encoding="us-ascii").decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(
    root: ElementTree.Element, path: str, findings: list[Diagnostic], report: Report
) -> None:
    shown = one_line(path)
    suite = ElementTree.SubElement(root, "testsuite", name=shown)
    if not findings:
        ElementTree.SubElement(suite, "testcase", name="no findings", classname=shown)
    for finding in findings:
        _case(suite, shown, finding, report)
    suite.attrib.update(
        tests=str(len(suite)),
        failures=str(len(suite.findall("testcase/failure"))),
        errors="0",
        skipped=str(len(suite.findall("testcase/skipped"))),
    )


def _case(
    suite: ElementTree.Element, path: str, finding: Diagnostic, report: Report
) -> None:
    span = finding.span
    name = f"{finding.code} {finding.name} {span.line}:{span.column}"
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=path)
    message = one_line(finding.message)
    if finding.suppressed is not None:
        reason = one_line(finding.suppressed.reason)
        ElementTree.SubElement(case, "skipped", message=f"{message} ({reason})")
        return
    lines = [f"{one_line(str(span))}: {message}"]
    lines += [one_line(f"{r.span}: {r.message}") for r in finding.related]
    if finding.help:
        lines.append(f"help: {one_line(finding.help)}")
    label = finding.severity.label
    if finding.severity >= report.fail_on:
        failure = ElementTree.SubElement(case, "failure", message=message, type=label)
        failure.text = "\n".join(lines)
    else:
        output = ElementTree.SubElement(case, "system-out")
        output.text = "\n".join([f"{label}: {lines[0]}", *lines[1:]])
