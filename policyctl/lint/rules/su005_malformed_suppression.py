"""SU005: comments that look like suppressions and are none."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes
from policyctl.lint.run import Run
from policyctl.lint.suppression_rule import SuppressionRule


class MalformedSuppression(SuppressionRule):
    """A suppression is not understood.

    What:
        A comment begins with `policyctl` but has not the form
        `policyctl: ignore[CODE] reason`, names no code, or gives a last day that is no date.

    Why:
        It hides nothing, while its writer believes that it does. Codes are required, so that a
        suppression never hides more than was meant.

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
              max_attempts: 3  # policyctl: ignore the vendor asks for it

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
        Write `# policyctl: ignore[RT001] reason until=2026-12-31`.

    False positives:
        Comments about the tool: begin them with another word.

    References:
        none
    """

    code: ClassVar[str] = "SU005"
    name: ClassVar[str] = "malformed-suppression"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        for suppression in run.suppressions:
            if suppression.service and suppression.problem is not None:
                yield self.about(
                    suppression,
                    context,
                    f"this suppression {suppression.problem}",
                    "write # policyctl: ignore[CODE] reason until=YYYY-MM-DD",
                    removable=False,
                )
