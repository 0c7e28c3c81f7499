"""RT007: retry budgets that leave no headroom."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Fix, Severity
from policyctl.lint import amplify, mend, setting, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.load import recovery_time
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.lint.traffic import Load
from policyctl.resolve.policy import Operation, RetryBudget


class RetryBudgetTooGenerous(Rule):
    """The retry budget is larger than the callee's headroom.

    What:
        With `refill: request`, first tries and the retries that they pay for reach the
        callee's capacity: `rho (1 + b_eff) >= 1` (an error). Below that, recovery from
        an outage of 30 s takes over 5 minutes (a warning). With `refill: success` that
        is reported only if it is the floors of the budget that make it so long.

    Why:
        A budget that first tries refill keeps granting retries while everything fails.
        In the published model at 93 % utilisation, 10 % and 7 % never recover, 5 % takes
        about 454 s, and refilling on success 152 s.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 280/s, callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {budget: {ratio: 10%, refill: request, floor: 1/m}}

    Good:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 280/s, callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {budget: {ratio: 10%, refill: success, floor: 1/m}}

    Fix:
        Set `refill: success`, or lower the ratio to half of the headroom.

    False positives:
        Capacity that was measured with dearer requests: state that of the usual mix.

    References:
        Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021
        Marc Brooker, Fixing retries with token buckets and circuit breakers, 2022
    """

    code: ClassVar[str] = "RT007"
    name: ClassVar[str] = "retry-budget-too-generous"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "callee's facts.capacity",
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
    )

    outage = setting.seconds(30.0, "the outage whose recovery is worked out")
    recovery = setting.seconds(300.0, "the longest recovery that is not reported")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None or retry.max_attempts == 1 or retry.budget is None:
            return
        callee = amplify.callee_of(site, context)
        load, capacity = context.load(site), callee.facts.capacity
        if capacity is None or load.rate is None:
            lacking = [] if capacity else [f"{callee.name}.facts.capacity"]
            yield from missing([*lacking, *load.missing_rate])
            return
        demand = amplify.demand(callee, context)
        if reaches(demand.attempts, capacity):
            if retry.budget.refill == "request":
                yield self._no_headroom(site, retry.budget, demand, capacity)
            return
        yield from missing(demand.missing + load.missing_callers)
        tau = _patience(site.policy)
        if tau is None:
            return
        needed = recovery_time(demand.first, demand.factor, capacity, self.outage, tau)
        without = recovery_time(demand.first, 1.0, capacity, self.outage, tau)
        matters = retry.budget.refill == "request" or not over(without, self.recovery)
        if matters and over(needed, self.recovery):
            yield self._slow_recovery(
                site, retry.budget, demand, capacity, needed, load
            )

    def _no_headroom(
        self, site: Site, budget: RetryBudget, demand: amplify.Demand, capacity: float
    ) -> Diagnostic:
        return self.finding(
            site.place,
            "retry.budget.refill",
            f"{show.rate(demand.first)} with retries of "
            f"{show.ratio(demand.factor - 1)} = {show.rate(demand.attempts)} >= capacity "
            f"{show.rate(capacity)}: while all calls fail, first tries keep paying for "
            "retries",
            help=_help(budget, demand.first / capacity),
            fix=_fix(site, budget, demand.first / capacity),
            also=(
                ("retry.budget.ratio", f"{show.ratio(budget.ratio)} of first tries"),
            ),
        )

    def _slow_recovery(
        self,
        site: Site,
        budget: RetryBudget,
        demand: amplify.Demand,
        capacity: float,
        needed: float,
        load: Load,
    ) -> Diagnostic:
        return self.finding(
            site.place,
            "retry.budget",
            f"{show.rate(demand.first)} become {show.rate(demand.attempts)} of "
            f"{show.rate(capacity)}: recovery from an outage of "
            f"{show.duration(self.outage)} takes about {show.duration(round(needed))}",
            severity=Severity.WARNING,
            help=_floor_help(budget, load) or _help(budget, demand.first / capacity),
            fix=_fix(site, budget, demand.first / capacity),
        )


def _patience(policy: Operation) -> float | None:
    """How long a call waits for an answer, in seconds; None where nothing ends it."""
    timeout, budget = policy.attempt_timeout, policy.budget
    if timeout is not None and timeout.total is not None:
        return timeout.total
    return None if budget is None else budget.total


def _floor_help(budget: RetryBudget, load: Load) -> str | None:
    """What a budget that successes refill grants while nothing succeeds."""
    if budget.refill == "request":
        return None
    if load.callers is None or budget.floor == 0:
        return "lower the floors of the other retry budgets of this callee"
    granted = f"{show.rate(budget.floor)} = {show.rate(load.callers * budget.floor)}"
    return f"lower floor: {load.callers} processes x {granted} of retries in any outage"


def _fix(site: Site, budget: RetryBudget, utilisation: float) -> Fix | None:
    if budget.refill != "request" or utilisation >= 1:
        return None
    return mend.set_value(site.place, "retry.budget.refill", "success", safe=False)


def _help(budget: RetryBudget, utilisation: float) -> str:
    """Refill on success, or half of the headroom; neither helps without headroom."""
    if utilisation >= 1:
        return "add capacity: first tries alone use all of it"
    most = 0.5 * (1 / utilisation - 1)
    if reaches(most, budget.ratio):
        return "set refill: success"
    return f"set refill: success or ratio: {show.ratio(math.floor(most * 1000) / 1000)}"
