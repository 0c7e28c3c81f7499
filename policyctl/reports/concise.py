"""``concise``: one line for each finding, for editors and grep, then the summary."""

from __future__ import annotations

from policyctl.reports.encode import one_line
from policyctl.reports.report import Report


def render(report: Report) -> str:
    """Return ``path:line:column: severity[CODE] name: message`` lines and a summary."""
    lines = [
        one_line(f"{d.span}: {d.severity.label}[{d.code}] {d.name}: {d.message}")
        for d in report.findings
    ]
    lines.extend(f"note: {one_line(note)}" for note in report.notes)
    return "\n".join([*lines, report.summary(), ""])
