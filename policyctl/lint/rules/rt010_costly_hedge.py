"""RT010: hedges that cost more than they promise."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing


class CostlyHedge(Rule):
    """The hedge adds more load than hedging is worth.

    What:
        - `max_hedges` is 2 or more;
        - `hedge.budget` lets over 5 % extra attempts through;
        - `hedge.delay` is below the median latency, so that most calls ask for a hedge.

    Why:
        Hedging pays off when it waits for about the p95 and so repeats one call in
        twenty. In a slowdown every call asks for all of its hedges; the budget alone
        bounds the load then.

    Bad:
        version: 1
        service: map_api
        owner: map-team
        operations:
          tile:
            transport: http
            idempotent: true
            facts: {latency: {p50: 40ms, p99: 300ms}}
            attempt_timeout: 400ms
            budget: 1s
            hedge: {delay: 200ms, max_hedges: 3}

    Good:
        version: 1
        service: map_api
        owner: map-team
        operations:
          tile:
            transport: http
            idempotent: true
            facts: {latency: {p50: 40ms, p99: 300ms}}
            attempt_timeout: 400ms
            budget: 1s
            hedge: {delay: 200ms, max_hedges: 1, budget: 2%}

    Fix:
        One hedge, a delay near the p95, a budget of 2 to 5 %.

    False positives:
        Callees with capacity to spare: raise the rule's `extra_load` setting.

    References:
        Dean and Barroso, The Tail at Scale, CACM 2013
        gRPC proposal A6, hedging
    """

    code: ClassVar[str] = "RT010"
    name: ClassVar[str] = "costly-hedge"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = ("operation facts.latency.p50",)

    extra_load = setting.ratio(0.05, "the share of extra attempts that is not reported")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        hedge, latency = site.policy.hedge, site.policy.facts.latency
        if hedge is None:
            return
        if hedge.max_hedges >= 2:
            yield self.finding(
                site.place,
                "hedge.max_hedges",
                f"in a slowdown each call of {site.policy.id} asks for "
                f"{hedge.max_hedges + 1} attempts at once",
                help="set max_hedges: 1",
                fix=mend.set_value(site.place, "hedge.max_hedges", "1", safe=False),
            )
        if over(hedge.budget, self.extra_load):
            yield self.finding(
                site.place,
                "hedge.budget",
                f"hedges may add {show.ratio(hedge.budget)} to the load, over "
                f"{show.ratio(self.extra_load)}",
                help=f"set budget: {show.ratio(self.extra_load)} or less",
                fix=mend.set_value(
                    site.place, "hedge.budget", show.ratio(self.extra_load), safe=False
                ),
            )
        if latency is None or latency.p50 is None:
            yield from missing([site.place.join("facts.latency.p50")])
        elif hedge.delay < latency.p50:
            p99 = (
                f", for example between it and the p99 of {show.duration(latency.p99)}"
                if latency.p99
                else ""
            )
            yield self.finding(
                site.place,
                "hedge.delay",
                f"delay {show.duration(hedge.delay)} < median latency "
                f"{show.duration(latency.p50)}: more than half of all calls ask for a "
                "hedge",
                help=f"set delay to the p95, well above the median{p99}",
                also=(("facts.latency.p50", "the median"),),
            )
