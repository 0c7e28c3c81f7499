"""What the rules about suppressions share."""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic
from policyctl.lint.context import Context
from policyctl.lint.rule import Rule
from policyctl.lint.suppression_fix import remove
from policyctl.lint.suppressions import Suppression


class SuppressionRule(Rule):
    """Base of rules whose findings point at a suppression."""

    def about(
        self,
        suppression: Suppression,
        context: Context,
        message: str,
        help: str,
        code: str | None = None,
        *,
        removable: bool = True,
    ) -> Diagnostic:
        """A finding about a suppression, with the edit that removes it or one code."""
        source = context.project.services[suppression.service].document.source
        return Diagnostic(
            self.code,
            self.name,
            self.severity,
            message,
            suppression.span,
            help=help,
            policy_path=f"{suppression.service}.{suppression.path}",
            fix=remove(suppression, source, code) if removable else None,
        )
