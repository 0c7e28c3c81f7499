"""What one run has found so far, for the rules that look at the run itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from policyctl.diagnostics import Diagnostic
from policyctl.lint.coverage import Coverage
from policyctl.lint.suppressions import Suppression


@dataclass(frozen=True, slots=True)
class Run:
    """The state after the rules have looked at the policies.

    Attributes:
        findings: what they found; suppressed ones are marked once known.
        suppressions: all of the reported services' documents.
        coverage: which rules lacked which facts.
        unsuppressible: codes that nothing may hide.
        crashed: codes of rules that failed, whose silence means nothing.
        today: the date that expiry is measured against.
    """

    findings: tuple[Diagnostic, ...]
    suppressions: tuple[Suppression, ...]
    coverage: Coverage
    unsuppressible: frozenset[str]
    crashed: frozenset[str]
    today: date
