"""The codes of what validation of one document finds.

``VA001`` to ``VA099`` are found in one document alone; what needs resolved values or
other documents has ``VA101`` and up, in ``resolve``. A code is never given to another
meaning.
"""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Fix, Related, Severity, Span

CHECKS: dict[str, tuple[str, str]] = {
    "VA001": ("unknown-key", "a block has no such key"),
    "VA002": ("misplaced-key", "the key exists, but in another block"),
    "VA003": ("foreign-key", "the key is the word of another system"),
    "VA004": ("null-value", "a key has no value, or null"),
    "VA005": (
        "wrong-type",
        "a mapping, a list or a single value stands where another is wanted",
    ),
    "VA006": ("missing-key", "a block lacks a key that it cannot do without"),
    "VA007": ("invalid-duration", "a duration has no unit or another form"),
    "VA008": ("invalid-rate", "a rate has no time or another form"),
    "VA009": ("invalid-ratio", "a ratio is over 1 or has another form"),
    "VA010": ("invalid-size", "a size has no unit or another form"),
    "VA011": ("invalid-count", "a count is not a whole number"),
    "VA012": ("invalid-number", "a value is not a number"),
    "VA013": ("out-of-bounds", "a number is below or above what its key may hold"),
    "VA014": ("invalid-choice", "a word is not among those of its key"),
    "VA015": ("invalid-boolean", "a value is neither true nor false"),
    "VA016": (
        "invalid-text",
        "a text is empty, too long, or not of the form that its key wants",
    ),
    "VA017": (
        "invalid-exception",
        "a name is no builtin exception, reference or portable condition",
    ),
    "VA018": ("invalid-status", "a status is out of range, upside down or unknown"),
    "VA019": ("invalid-callable", "a reference has not the form package.module:name"),
    "VA020": (
        "invalid-argument",
        "an argument, an argument path or a scope has another form",
    ),
    "VA021": ("invalid-name", "a name cannot be one in generated code"),
    "VA022": (
        "name-collision",
        "two names of one document would be one in generated code",
    ),
    "VA023": ("invalid-operation", "a reference has not the form service.operation"),
    "VA024": ("invalid-version", "the version is not 1"),
    "VA025": (
        "conflicting-keys",
        "two keys stand side by side of which one may be there",
    ),
    "VA026": (
        "nothing-to-protect",
        "a service has no operations, calls, inbound or queues",
    ),
    "VA027": (
        "not-found",
        "an installed package has no such module, class or function",
    ),
    "VA028": (
        "not-an-exception",
        "a reference leads to something that is not an exception",
    ),
    "VA029": ("invalid-date", "a date has another form or is not in the calendar"),
    "VA030": ("duplicate-item", "a list holds a value twice"),
    "VA031": (
        "not-a-policy",
        "the document is no mapping, or has none of the keys of a policy",
    ),
    "VA032": ("too-many-errors", "further errors of the document are not shown"),
    "VA033": ("not-a-class", "a reference leads to a function where a class is wanted"),
}
"""Code to name and occasion of every finding of this step."""

NAMES = {code: name for code, (name, _when) in CHECKS.items()}

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
