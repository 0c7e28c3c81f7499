"""``json``: version 1 of a stable shape, described by ``schema.json`` beside this file.

Only ASCII is printed, so that the text is UTF-8 in every encoding.
"""

from __future__ import annotations

import json
from typing import Any

from policyctl.diagnostics import Diagnostic, Fix, Severity, Span
from policyctl.reports.report import Report

MACHINE = True
VERSION = 1


def render(report: Report) -> str:
    """Return the report as one JSON object, indented, keys in a fixed order."""
    return json.dumps(to_data(report), indent=2) + "\n"


def to_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data in the published shape."""
    return {
        "version": VERSION,
        "tool": {"name": "policyctl", "version": report.version},
        "diagnostics": [_finding(finding) for finding in report.findings],
        "suppressed": [_finding(finding) for finding in report.suppressed],
        "notes": list(report.notes),
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "infos": report.count(Severity.INFO),
            "suppressed": len(report.suppressed),
            "baselined": report.baselined,
            "files": report.files,
            "services": report.services,
            "failed": report.failed,
        },
    }


def _finding(finding: Diagnostic) -> dict[str, Any]:
    data: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.label,
        "message": finding.message,
        **_place(finding.span),
        "help": finding.help,
        "policy_path": finding.policy_path,
        "related": [{**_place(r.span), "message": r.message} for r in finding.related],
        "fix": None if finding.fix is None else _fix(finding.fix),
    }
    if finding.suppressed is not None:
        hidden = finding.suppressed
        data["suppressed"] = {"reason": hidden.reason, **_place(hidden.span)}
    return data


def _place(span: Span) -> dict[str, Any]:
    return {
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "message": fix.message,
        "safe": fix.safe,
        "edits": [{**_place(edit.span), "text": edit.text} for edit in fix.edits],
    }
