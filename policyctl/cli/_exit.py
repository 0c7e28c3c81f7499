"""Exit codes, the same for every command and every format."""

from __future__ import annotations

from collections.abc import Iterable

from policyctl.diagnostics import Diagnostic, Severity

CLEAN = 0
"""Nothing to object to."""
FINDINGS = 1
"""Findings at or above the threshold, invalid policies, or stale output."""
FAILED = 2
"""The job could not be done: usage, configuration, input or output."""
INTERRUPTED = 130
"""Stopped by the user, as shells report it."""


def code_for(findings: Iterable[Diagnostic], threshold: Severity) -> int:
    """The exit code that ``findings`` ask for; suppressed ones do not count.

    An error of configuration, input or output (``CF``) means that the job could not be
    done, which outranks findings.
    """
    code = CLEAN
    for finding in findings:
        if finding.suppressed is not None:
            continue
        if finding.code.startswith("CF") and finding.severity is Severity.ERROR:
            return FAILED
        if finding.severity >= threshold:
            code = FINDINGS
    return code
