"""RT006: retries that can keep an overloaded callee overloaded."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Fix, Severity
from policyctl.lint import amplify, mend, setting, show
from policyctl.lint.compare import reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.lint.traffic import Load
from policyctl.resolve.policy import Retry


class RetriesWithoutBudget(Rule):
    """Retries without a retry budget can keep the callee overloaded.

    What:
        Retries have no `retry.budget`, and when every attempt fails, all attempts at the
        callee together reach its capacity: `lam x n >= C` (an error). Where capacity is
        not known, three attempts or more by ten client processes or more are a warning.

    Why:
        Retries are the commonest effect that sustains an outage after its cause is gone.
        Failing calls cause attempts, attempts cause overload, overload fails calls. A
        budget cuts this growth from a factor of three to about 1.1.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 2}

    Good:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 2, budget: {ratio: 10%, refill: success, floor: 1/s}}

    Fix:
        Add `budget: {ratio: 10%, refill: success, floor: 1/s}` to the retry, with a
        lower floor where 1/s of every process would be more than the ratio.

    False positives:
        A few serial clients, whose rate falls when calls take longer: state the rate
        that they reach at the slow pace. A `control_loop` with unlimited attempts whose
        back-off has jitter and grows to 10 s is not reported.

    References:
        Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021
        Huang et al., Metastable Failures in the Wild, OSDI 2022
        Site Reliability Engineering, chapter 21, Handling Overload
    """

    code: ClassVar[str] = "RT006"
    name: ClassVar[str] = "retries-without-budget"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "callee's facts.capacity",
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
    )

    many_attempts = setting.count(3, "this many attempts are many")
    many_callers = setting.count(10, "this many client processes are many")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None or retry.max_attempts == 1 or retry.budget is not None:
            return
        if amplify.calm_loop(site.policy):
            return
        callee = amplify.callee_of(site, context)
        capacity = callee.facts.capacity
        load = context.load(site)
        if capacity is None:
            found = self._many(site, retry, load)
            if found is not None:
                yield found
            yield from missing([f"{callee.name}.facts.capacity"])
            if load.callers is None:
                yield from missing(load.missing_callers)
            return
        demand = amplify.demand(callee, context)
        if context.traffic.at_least(site.policy.id) and reaches(
            demand.attempts, capacity
        ):
            yield self._vulnerable(site, demand, capacity, load)
        else:
            yield from missing(load.missing_rate or demand.missing)

    def _vulnerable(
        self, site: Site, demand: amplify.Demand, capacity: float, load: Load
    ) -> Diagnostic:
        total = "without limit"
        if not math.isinf(demand.attempts):
            total = f"x {show.number(demand.factor)} attempts = {show.rate(demand.attempts)}"
        ratio = demand.first / capacity
        budgeted = f"{show.number(ratio)} x 1.1 = {show.number(1.1 * ratio)}"
        calm = ""
        if 1.1 * ratio < 1 and load.per_client is not None:
            calm = f", so that at most {budgeted} of capacity are used"
        return self.finding(
            site.place,
            "retry",
            f"{show.rate(demand.first)} {total} >= capacity {show.rate(capacity)} of "
            f"{site.policy.service}: once overloaded, retries keep it overloaded",
            help=f"add budget: {_budget(load)} to retry{calm}",
            fix=_fix(site, load),
        )

    def _many(self, site: Site, retry: Retry, load: Load) -> Diagnostic | None:
        attempts, callers = retry.max_attempts, load.callers
        many = attempts is None or attempts >= self.many_attempts
        if not many or callers is None or callers < self.many_callers:
            return None
        tries = "unlimited" if attempts is None else f"up to {attempts}"
        return self.finding(
            site.place,
            "retry",
            f"{callers} client processes make {tries} attempts of each call of "
            f"{site.policy.id}, and no retry budget bounds them together",
            severity=Severity.WARNING,
            help=f"add budget: {_budget(load)} to retry, or state facts.capacity of "
            f"{site.policy.service} to have it worked out",
            fix=_fix(site, load),
        )


_RATIO = 0.1


def _budget(load: Load) -> str:
    """A tenth, with a floor of 1/s or less: all floors grant no more than the ratio."""
    share = load.per_client
    floor = "1/s" if share is None else show.floor_rate(min(1.0, _RATIO * share))
    return f"{{ratio: {show.ratio(_RATIO)}, refill: success, floor: {floor}}}"


def _fix(site: Site, load: Load) -> Fix | None:
    return mend.set_value(site.place, "retry.budget", _budget(load), safe=False)
