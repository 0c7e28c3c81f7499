"""SU001: suppressions of rules that do not exist."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import registry, show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes
from policyctl.lint.run import Run
from policyctl.lint.suppression_rule import SuppressionRule


class UnknownSuppression(SuppressionRule):
    """A suppression names a rule that does not exist.

    What:
        A comment or an entry of `ignore:` names a code or name that no rule has. Syntax and
        validation findings are no rules and cannot be suppressed.

    Why:
        It hides nothing, while its writer believes that it does.

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
              max_attempts: 3  # policyctl: ignore[RT999] the vendor asks for it

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
        Write the code that the finding shows.

    False positives:
        None known.

    References:
        none
    """

    code: ClassVar[str] = "SU001"
    name: ClassVar[str] = "unknown-suppression"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        for suppression in run.suppressions:
            if suppression.service and suppression.problem is None:
                for code in suppression.codes:
                    if code not in run.known:
                        yield self.about(
                            suppression,
                            context,
                            f"no rule is called {show.quoted(code)}",
                            _help(code),
                            code,
                        )


def _help(code: str) -> str:
    if code[:2] in ("SY", "VA", "CF", "LN"):
        return "findings of this kind cannot be suppressed; mend what they name"
    near = registry.nearest(code)
    return f"did you mean {near}?" if near else "`policyctl rules` lists the codes"
