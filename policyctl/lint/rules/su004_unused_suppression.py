"""SU004: suppressions that hide nothing."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes
from policyctl.lint.run import Run
from policyctl.lint.suppression_rule import SuppressionRule


class UnusedSuppression(SuppressionRule):
    """A suppression hides nothing.

    What:
        No finding of the named rule lies where the suppression stands. Rules that did not run,
        or that lacked facts there, do not count.

    Why:
        What it excused is mended, or never was there. Left in place it hides the next finding.

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
              max_attempts: 3  # policyctl: ignore[RT001] the vendor asks for it

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
        Remove it.

    False positives:
        None known.

    References:
        none
    """

    code: ClassVar[str] = "SU004"
    name: ClassVar[str] = "unused-suppression"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        for suppression in run.suppressions:
            if not run.is_live(suppression):
                continue
            for code in suppression.codes:
                if run.is_unused(suppression, code):
                    yield self.about(
                        suppression,
                        context,
                        f"the suppression of {code} hides nothing",
                        "remove it",
                        code,
                    )
