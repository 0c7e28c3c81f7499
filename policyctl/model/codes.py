"""The codes of what validation of one document finds.

``VA001`` to ``VA099`` are found in one document alone; what needs resolved values or
other documents has ``VA101`` and up, in ``resolve``. A code is never given to another
meaning.
"""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Fix, Related, Severity, Span

NAMES: dict[str, str] = {
    "VA001": "unknown-key",
    "VA002": "misplaced-key",
    "VA003": "foreign-key",
    "VA004": "null-value",
    "VA005": "wrong-type",
    "VA006": "missing-key",
    "VA007": "invalid-duration",
    "VA008": "invalid-rate",
    "VA009": "invalid-ratio",
    "VA010": "invalid-size",
    "VA011": "invalid-count",
    "VA012": "invalid-number",
    "VA013": "out-of-bounds",
    "VA014": "invalid-choice",
    "VA015": "invalid-boolean",
    "VA016": "invalid-text",
    "VA017": "invalid-exception",
    "VA018": "invalid-status",
    "VA019": "invalid-callable",
    "VA020": "invalid-argument",
    "VA021": "invalid-name",
    "VA022": "name-collision",
    "VA023": "invalid-operation",
    "VA024": "invalid-version",
    "VA025": "conflicting-keys",
    "VA026": "nothing-to-protect",
    "VA027": "not-found",
    "VA028": "not-an-exception",
    "VA029": "invalid-date",
    "VA030": "duplicate-item",
    "VA031": "not-a-policy",
    "VA032": "too-many-errors",
    "VA033": "not-a-class",
}
"""Code to name of every finding of this step."""

MOST_PER_STEP = 200
"""Each check of a document makes at most so many findings and counts the others."""

CODES = {name: code for code, name in NAMES.items()}


def finding(
    name: str,
    span: Span,
    message: str,
    help_text: str | None = None,
    *,
    related: tuple[Related, ...] = (),
    policy_path: str = "",
    fix: Fix | None = None,
) -> Diagnostic:
    """Return an error of a known name.

    Raises:
        KeyError: ``name`` is not in ``NAMES``.
    """
    return Diagnostic(
        CODES[name],
        name,
        Severity.ERROR,
        message,
        span,
        related=related,
        help=help_text or None,
        policy_path=policy_path,
        fix=fix,
    )
