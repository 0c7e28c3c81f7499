"""``github``: workflow commands, which GitHub Actions shows beside the changed lines.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions. The
summary follows as an ordinary line of the log.
"""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.reports.encode import one_line
from policyctl.reports.report import Report

_COMMANDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans(
    {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
)


def render(report: Report) -> str:
    """Return one command a finding, then the notes and the summary."""
    lines = [_command(finding) for finding in report.findings]
    lines.extend(f"note: {one_line(note)}" for note in report.notes)
    return "\n".join([*lines, report.summary(), ""])


def _command(finding: Diagnostic) -> str:
    span = finding.span
    properties = {
        "file": one_line(span.path),
        "line": str(span.line),
        "endLine": str(span.end_line),
        "title": f"{finding.code} {finding.name}",
    }
    if span.line == span.end_line:
        properties["col"] = str(span.column)
        properties["endColumn"] = str(span.end_column)
    listed = ",".join(f"{k}={v.translate(_PROPERTY)}" for k, v in properties.items())
    message = one_line(finding.message)
    for related in finding.related:
        message += f"\n{one_line(f'{related.span}: {related.message}')}"
    if finding.help:
        message += f"\nhelp: {one_line(finding.help)}"
    return f"::{_COMMANDS[finding.severity]} {listed}::{message.translate(_DATA)}"
