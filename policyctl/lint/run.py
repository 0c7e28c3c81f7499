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
        suppressions: all of the reported services' documents, and of presets.
        coverage: which rules lacked which facts.
        known: codes and names of all rules that exist.
        ran: code by code or name, of the rules that ran.
        unsuppressible: codes and names of rules that nothing may hide.
        crashed: codes of rules that failed, whose silence means nothing.
        today: the date that expiry is measured against.
    """

    findings: tuple[Diagnostic, ...]
    suppressions: tuple[Suppression, ...]
    coverage: Coverage
    known: frozenset[str]
    ran: dict[str, str]
    unsuppressible: frozenset[str]
    crashed: frozenset[str]
    today: date

    def is_live(self, suppression: Suppression) -> bool:
        """Whether a suppression could hide something: well formed, attached, in force."""
        attached = suppression.at is not None or suppression.anchor is not None
        attached = attached and not suppression.dangling
        formed = bool(suppression.service) and suppression.problem is None
        return formed and attached and not suppression.expired(self.today)

    def is_unused(self, suppression: Suppression, name: str) -> bool:
        """Whether rule ``name`` ran where a suppression stands and found nothing there."""
        code = self.ran.get(name)
        if code is None or code in self.crashed or name in self.unsuppressible:
            return False
        if self.coverage.waits(code, suppression.scope):
            return False
        return not any(
            finding.code == code and suppression.covers(finding)
            for finding in self.findings
        )
