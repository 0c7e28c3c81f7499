"""AC001: services whose owner cannot be reached."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Service


class OwnerHasAChannel(Rule):
    """A critical service names no team that is on call.

    What:
        The service is `critical`, and its `owner` does not end in `-oncall`.

    Why:
        At Acme, alerts of critical services go to the rotation of that name.

    Bad:
        version: 1
        service: payment_api
        owner: payments-team
        critical: true
        operations:
          ping: {transport: local}

    Good:
        version: 1
        service: payment_api
        owner: payments-oncall
        critical: true
        operations:
          ping: {transport: local}

    Fix:
        Name the rotation.

    False positives:
        None known.

    References:
        Acme handbook, alerting
    """

    code: ClassVar[str] = "AC001"
    name: ClassVar[str] = "owner-not-on-call"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_service(self, service: Service, context: Context) -> Outcomes:
        owner = service.owner or ""
        if service.critical and not owner.endswith("-oncall"):
            yield self.finding(
                place.of_service(service),
                "owner",
                f"{service.name} is critical, and {owner or 'nobody'} is not on call",
                help="name the rotation of the team, for example payments-oncall",
            )
