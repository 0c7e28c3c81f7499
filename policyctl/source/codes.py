"""The codes of what the reader finds; a code is never given to another meaning."""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Fix, Related, Severity, Span

NAMES: dict[str, str] = {
    "SY001": "invalid-encoding",
    "SY002": "invalid-character",
    "SY003": "file-too-large",
    "SY004": "invalid-yaml",
    "SY005": "tab-indentation",
    "SY006": "unclosed-bracket",
    "SY007": "unclosed-quote",
    "SY008": "invalid-escape",
    "SY009": "duplicate-key",
    "SY010": "invalid-key",
    "SY011": "unknown-tag",
    "SY012": "undefined-alias",
    "SY013": "recursive-alias",
    "SY014": "nested-too-deeply",
    "SY015": "too-many-values",
    "SY016": "alias-expansion",
    "SY017": "invalid-merge",
    "SY018": "invalid-value",
    "SY019": "empty-file",
    "SY020": "missing-quotes",
    "SY021": "misplaced-colon",
    "SY022": "too-many-errors",
}
"""Code to name of every syntax finding."""

RETIRED: frozenset[str] = frozenset()
"""Codes that were given once and are gone; they are not given again."""


def finding(
    code: str,
    span: Span,
    message: str,
    help_text: str | None = None,
    related: tuple[Related, ...] = (),
    *,
    severity: Severity = Severity.ERROR,
    fix: Fix | None = None,
) -> Diagnostic:
    """Return a syntax finding of a known code.

    Raises:
        KeyError: ``code`` is not in ``NAMES``.
    """
    name = NAMES[code]
    return Diagnostic(code, name, severity, message, span, related, help_text, fix=fix)
