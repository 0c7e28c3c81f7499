"""SU006: suppressions of rules that may not be suppressed."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes
from policyctl.lint.run import Run
from policyctl.lint.suppression_rule import SuppressionRule


class UnsuppressibleRule(SuppressionRule):
    """A suppression names a rule that may not be hidden.

    What:
        The configuration lists the rule under `unsuppressible`, or the rule is about
        suppressions itself.

    Why:
        Some findings must reach everybody; the project has decided which.

    Bad:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 5s
            retry:
              max_attempts: 3  # policyctl: ignore[SU004] kept for the record

    Good:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 5s
            retry:
              max_attempts: 4  # policyctl: ignore[RT001] the vendor asks for four

    Fix:
        Mend what the finding names and remove the suppression.

    False positives:
        None known.

    References:
        none
    """

    code: ClassVar[str] = "SU006"
    name: ClassVar[str] = "unsuppressible-rule"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        for suppression in run.suppressions:
            if suppression.service and suppression.problem is None:
                for code in suppression.codes:
                    if code in run.unsuppressible:
                        yield self.about(
                            suppression,
                            context,
                            f"{code} may not be suppressed",
                            "mend what it reports, and remove the suppression",
                            code,
                        )
