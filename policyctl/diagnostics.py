"""What every stage reports: places in files, findings, and edits that mend them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self


class Severity(IntEnum):
    """How bad a finding is; comparable, higher is worse."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """``info``, ``warning`` or ``error``."""
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the severity named by ``text``.

        Raises:
            ValueError: ``text`` is not ``info``, ``warning`` or ``error``.
        """
        for member in cls:
            if member.label == text:
                return member
        raise ValueError(f"{text!r} is not one of info, warning, error")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of one file.

    Lines and columns count from 1 and columns count characters, as editors show
    them. ``start`` and ``end`` are character offsets into the decoded text (after
    a byte-order mark), for edits. ``path`` is what the user typed or a path
    relative to the working directory, with forward slashes.
    """

    path: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that a finding speaks of, with a few words on its part."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters of ``span`` (by offsets) with ``text``."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that together mend one finding.

    A safe fix keeps behaviour or only reduces load; an unsafe one is a suggestion.
    """

    message: str
    edits: tuple[Edit, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Why a finding is not counted."""

    reason: str
    span: Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: two letters and three digits, for example ``TB004``; ``SY`` is syntax,
            ``VA`` validation, ``CF`` configuration and input, ``SU`` suppressions.
        name: the kebab-case name of the rule or check.
        message: lower case, without a full stop, with the numbers that decided.
        span: the place to look at; shown with an excerpt and a caret.
        related: further places (the conflicting key, the preset it came from).
        help: the change to make, one or two sentences.
        policy_path: dotted path in the policy, for example
            ``payment_api.operations.charge.retry.max_attempts``; it keys baselines
            and suppressions, so it holds no line numbers.
        fix: edits that mend it, if there are any.
        suppressed: set when a comment or list entry hides the finding.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    related: tuple[Related, ...] = ()
    help: str | None = None
    policy_path: str = ""
    fix: Fix | None = None
    suppressed: Suppressed | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order in every report: file, line, column, code, message."""
        span = self.span
        return (span.path, span.line, span.column, self.code, self.message)

    def hidden_by(self, suppressed: Suppressed) -> Diagnostic:
        """Return this finding marked as suppressed."""
        return replace(self, suppressed=suppressed)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any unsuppressed finding is an error."""
    return any(
        d.severity is Severity.ERROR and d.suppressed is None for d in diagnostics
    )
