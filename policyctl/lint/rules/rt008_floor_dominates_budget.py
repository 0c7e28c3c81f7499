"""RT008: retry budgets whose floor or burst is the real limit."""

from __future__ import annotations

from typing import ClassVar

from policyctl import units
from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint import amplify, mend, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.load import burst_retries
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import RetryBudget


class FloorDominatesBudget(Rule):
    """The floor or burst of the retry budget outweighs its ratio.

    What:
        - The floors of all client processes together grant more retries than the ratio:
          `N m > b lam`; an error if with them first tries reach the callee's capacity,
          else info where the floor is the default, which is meant for little traffic.
        - The full buckets of all processes hold more retries than the callee serves
          within one attempt timeout: `N x burst > C t`; a burst of 1 is never reported.

    Why:
        Floor and burst belong to each process. A floor of 10 retries/s is 3,000/s in a
        fleet of 300, whatever the ratio says. In the published model, a thousand small
        clients kept amplification at 1.6 despite a budget of 10 %.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 2000/s, callers: 300}
            attempt_timeout: 500ms
            budget: 3s
            retry: {budget: {ratio: 20%, floor: 10/s}}

    Good:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 2000/s, callers: 300}
            attempt_timeout: 500ms
            budget: 3s
            retry: {budget: {ratio: 20%, floor: 1/s}}

    Fix:
        Set `floor` to at most `b lam / N`, or to `off` where that is less than one per
        hour, and scale `burst` in the same way.

    False positives:
        Clients with less than one call per second need a floor: none is advised only
        where even one retry per hour of each process is more than the ratio grants.

    References:
        Finagle documentation, RetryBudget: minRetriesPerSec is per client
        Marc Brooker, Fixing retries with token buckets and circuit breakers, 2022
    """

    code: ClassVar[str] = "RT008"
    name: ClassVar[str] = "floor-dominates-budget"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
        "callee's facts.capacity",
    )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None or retry.max_attempts == 1 or retry.budget is None:
            return
        load, budget = context.load(site), retry.budget
        callee = amplify.callee_of(site, context)
        if load.rate is None or load.callers is None:
            yield from missing(load.missing)
            return
        floors, capacity = budget.floor * load.callers, callee.facts.capacity
        dominates = over(floors, budget.ratio * load.rate)
        if dominates:
            yield self._floor(site, budget, load.rate, load.callers, capacity)
        timeout = site.policy.attempt_timeout
        attempt = None if timeout is None else timeout.total
        if capacity is None:
            if dominates or attempt is not None:
                yield from missing([f"{callee.name}.facts.capacity"])
            return
        if attempt is None:
            return
        served = capacity * attempt
        if budget.burst > 1 and over(burst_retries(load.callers, budget.burst), served):
            yield self._burst(site, budget, load.callers, served)

    def _floor(
        self,
        site: Site,
        budget: RetryBudget,
        rate: float,
        callers: int,
        capacity: float | None,
    ) -> Diagnostic:
        floors = budget.floor * callers
        severe = capacity is not None and reaches(rate + floors, capacity)
        message = (
            f"{callers} processes x floor {show.rate(budget.floor)} = "
            f"{show.rate(floors)} of retries > {show.ratio(budget.ratio)} of "
            f"{show.rate(rate)} = {show.rate(budget.ratio * rate)}"
        )
        if severe and capacity is not None:
            message += (
                f"; with first tries they reach the capacity {show.rate(capacity)}"
            )
        share = budget.ratio * rate / callers
        floor = show.floor_rate(share)
        advice = f"set floor: {floor} or less"
        if over(units.parse_rate(floor), share):
            advice = f"set floor: off, since even {floor} of each process is more"
            floor = "off"
        return self.finding(
            site.place,
            "retry.budget.floor",
            message,
            severity=Severity.ERROR if severe else _mild(site),
            help=advice,
            fix=mend.set_value(site.place, "retry.budget.floor", floor, safe=False),
            also=(("retry.budget.ratio", "the ratio"),),
        )

    def _burst(
        self, site: Site, budget: RetryBudget, callers: int, served: float
    ) -> Diagnostic:
        total = burst_retries(callers, budget.burst)
        share = str(max(1, int(served / callers + 1e-9)))
        return self.finding(
            site.place,
            "retry.budget.burst",
            f"{callers} processes x burst {budget.burst} = {total} retries at once, "
            f"more than the {show.number(served)} attempts that {site.policy.service} "
            "serves within attempt_timeout",
            help=f"set burst: {share}",
            fix=mend.set_value(site.place, "retry.budget.burst", share, safe=False),
        )


def _mild(site: Site) -> Severity | None:
    """A floor that nobody stated is there for clients with little traffic."""
    return None if site.place.stated("retry.budget.floor") else Severity.INFO
