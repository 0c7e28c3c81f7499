"""SU002: comments that stand beside nothing."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes
from policyctl.lint.run import Run
from policyctl.lint.suppression_rule import SuppressionRule


class UnattachedSuppression(SuppressionRule):
    """A suppression stands beside no key.

    What:
        A suppression comment is neither on the line of a key or list item, nor on a line of its
        own directly above one; or the `at` of an `ignore:` entry names an operation or a
        queue that does not exist.

    Why:
        It covers nothing. A blank line or a removed key between it and its target is enough.

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
              max_attempts: 3
              # policyctl: ignore[RT001] the vendor asks for four

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
        Move the comment to the line of the key that the finding points at, or above it.

    False positives:
        None known.

    References:
        none
    """

    code: ClassVar[str] = "SU002"
    name: ClassVar[str] = "unattached-suppression"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        for suppression in run.suppressions:
            if not suppression.service or suppression.problem is not None:
                continue
            codes = show.words(suppression.codes)
            if suppression.dangling:
                where = (suppression.at or "").partition(".")[2]
                message = (
                    f"the suppression of {codes} is at {where}, which does not exist"
                )
                help = "correct the path, or remove the entry"
            elif suppression.at is None and suppression.anchor is None:
                message = f"the suppression of {codes} stands beside no key"
                help = "put it on the key's line, or on the line directly above"
            else:
                continue
            yield self.about(suppression, context, message, help)
