"""AC002: calls that outlast the pages of the shop."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule


class BudgetOverPageLimit(Rule):
    """A budget is longer than a page may take.

    What:
        `budget.total` is over the limit of a page, in services of class `online`.

    Why:
        The shop's gateway answers with an error page after 8 s.

    Bad:
        version: 1
        service: quote_api
        owner: quotes-team
        operations:
          get_quote: {transport: http, idempotent: true, attempt_timeout: 1s, budget: 20s}

    Good:
        version: 1
        service: quote_api
        owner: quotes-team
        operations:
          get_quote: {transport: http, idempotent: true, attempt_timeout: 1s, budget: 8s}

    Fix:
        Shorten the budget, or make the service `class: batch`.

    False positives:
        None known.

    References:
        Acme handbook, gateway
    """

    code: ClassVar[str] = "AC002"
    name: ClassVar[str] = "budget-over-page-limit"
    severity: ClassVar[Severity] = Severity.ERROR

    limit = setting.seconds(8.0, "the longest time that a page may take")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        budget = site.policy.budget
        if budget is None or budget.total is None or budget.total <= self.limit:
            return
        if site.service.service_class != "online":
            return
        most = show.duration(self.limit)
        yield self.finding(
            site.place,
            "budget.total",
            f"budget {show.duration(budget.total)} > {most} of a page",
            help=f"set budget: {most} or less",
            fix=mend.set_value(site.place, "budget.total", most, safe=False),
        )
