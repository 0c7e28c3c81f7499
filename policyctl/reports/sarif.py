"""``sarif``: SARIF 2.1.0, as GitHub code scanning and other platforms take it.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Every result has one
relative, percent-encoded URI and a region that starts at 1. Fingerprints hold no line
numbers, so that a finding stays itself when lines move. Only ASCII is printed.
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from policyctl.diagnostics import Diagnostic, Fix, Severity, Span
from policyctl.reports.encode import one_line
from policyctl.reports.report import Report

MACHINE = True

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROJECT_FILE = "policyctl.toml"


def render(report: Report) -> str:
    """Return the report as one SARIF log, suppressed findings marked as such."""
    return json.dumps(to_data(report), indent=2) + "\n"


def to_data(report: Report) -> dict[str, Any]:
    """Return the SARIF log as plain data."""
    findings = sorted((*report.findings, *report.suppressed), key=lambda d: d.sort_key)
    rules = {d.code: d for d in reversed(findings)}
    index = {code: number for number, code in enumerate(sorted(rules))}
    seen: Counter[str] = Counter()
    driver = {
        "name": "policyctl",
        "version": report.version,
        "semanticVersion": report.version,
        "rules": [_rule(rules[code]) for code in index],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "%SRCROOT%": {"description": {"text": "The working directory of the run."}}
        },
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(d, index[d.code], report, seen) for d in findings],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def uri(path: str) -> str:
    """Return ``path`` as a relative URI reference.

    Roots and drives lose their meaning (an absolute path cannot be shown relative to
    the sources); a colon is encoded, so that nothing looks like a scheme. No path at all
    stands for the project: its configuration file.
    """
    return quote(path.lstrip("/") or _PROJECT_FILE, safe="/", errors="replace")


def _rule(first: Diagnostic) -> dict[str, Any]:
    """The rule of a code, described by its first finding."""
    words = first.name.replace("-", " ")
    return {
        "id": first.code,
        "name": first.name,
        "shortDescription": {"text": words[:1].upper() + words[1:]},
        "fullDescription": {"text": f"{first.code}: {words}"},
        "help": {"text": one_line(first.help or words)},
    }


def _result(
    finding: Diagnostic, rule: int, report: Report, seen: Counter[str]
) -> dict[str, Any]:
    message = one_line(finding.message)
    if finding.help:
        message += f". Help: {one_line(finding.help)}"
    fingerprint = _fingerprint(finding, report)
    seen[fingerprint] += 1
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [{"physicalLocation": _physical(finding.span)}],
        "partialFingerprints": {
            "primaryLocationLineHash": f"{fingerprint}:{seen[fingerprint]}"
        },
    }
    if finding.policy_path:
        logical = {"fullyQualifiedName": finding.policy_path}
        result["locations"][0]["logicalLocations"] = [logical]
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": one_line(related.message)},
                "physicalLocation": _physical(related.span),
            }
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix)]
    if finding.suppressed is not None:
        reason = one_line(finding.suppressed.reason)
        hidden = {"kind": "inSource", "status": "accepted"}
        result["suppressions"] = [{**hidden, "justification": reason or "no reason"}]
    return result


def _fingerprint(finding: Diagnostic, report: Report) -> str:
    """A digest of what identifies a finding wherever its line moves."""
    place = finding.policy_path
    if not place:
        source = report.sources.get(finding.span.path)
        line = "" if source is None else source.line_text(finding.span.line)
        place = f"{finding.message}\0{line.strip()}"
    identity = f"{finding.code}\0{uri(finding.span.path)}\0{place}"
    return sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _physical(span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(span), "region": _region(span)}


def _artifact(span: Span) -> dict[str, str]:
    return {"uri": uri(span.path), "uriBaseId": "%SRCROOT%"}


def _region(span: Span) -> dict[str, int]:
    line, column = max(span.line, 1), max(span.column, 1)
    end_line = max(span.end_line, line)
    end_column = max(span.end_column, 1 if end_line > line else column)
    return {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, dict[str, Any]] = {}
    for edit in fix.edits:
        change = changes.setdefault(
            edit.span.path,
            {"artifactLocation": _artifact(edit.span), "replacements": []},
        )
        replacement = {
            "deletedRegion": _region(edit.span),
            "insertedContent": {"text": edit.text},
        }
        change["replacements"].append(replacement)
    return {
        "description": {"text": one_line(fix.message)},
        "artifactChanges": list(changes.values()),
    }
