"""SU003: suppressions whose last day has passed."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes
from policyctl.lint.run import Run
from policyctl.lint.suppression_rule import SuppressionRule


class ExpiredSuppression(SuppressionRule):
    """A suppression has expired.

    What:
        The `until` of a suppression is in the past. The finding that it hid is reported again.

    Why:
        An exception was granted until that day; somebody has to decide again.

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
              max_attempts: 4  # policyctl: ignore[RT001] until the move until=2020-01-31

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
        Mend what it hid and remove it, or set a new day.

    False positives:
        None known.

    References:
        none
    """

    code: ClassVar[str] = "SU003"
    name: ClassVar[str] = "expired-suppression"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        for suppression in run.suppressions:
            formed = suppression.service and suppression.problem is None
            if formed and suppression.expired(run.today):
                codes = show.words(suppression.codes)
                yield self.about(
                    suppression,
                    context,
                    f"the suppression of {codes} ended on {suppression.until}",
                    "mend what it hid and remove it, or set a new until=",
                )
