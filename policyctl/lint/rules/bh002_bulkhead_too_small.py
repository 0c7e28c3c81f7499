"""BH002: bulkheads that healthy traffic fills."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.concurrency import erlang_b, in_flight, slots_for
from policyctl.lint.rule import Outcomes, Rule, missing


class BulkheadTooSmall(Rule):
    """Healthy traffic fills the bulkhead.

    What:
        By Little's law, one process has `lam_i x mean` calls in flight. More than
        `max_concurrent` is an error. Fewer, but so many that random arrivals find all
        slots taken for over 0.1 % of the calls (Erlang's loss formula), is a warning.

    Why:
        A bulkhead that is too small turns away healthy calls, or makes them wait.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 1, latency: {mean: 100ms, p50: 90ms, p99: 300ms}}
            attempt_timeout: 500ms
            budget: 2s
            bulkhead: {max_concurrent: 15}

    Good:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 1, latency: {mean: 100ms, p50: 90ms, p99: 300ms}}
            attempt_timeout: 500ms
            budget: 2s
            bulkhead: {max_concurrent: 36}

    Fix:
        Set `max_concurrent` to the number that the help line works out.

    False positives:
        Bulkheads that shed on purpose: suppress the rule with that reason.

    References:
        Little, A Proof for the Queuing Formula L = lambda W, 1961
        Erlang, Solution of some Problems in the Theory of Probabilities, 1917
    """

    code: ClassVar[str] = "BH002"
    name: ClassVar[str] = "bulkhead-too-small"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.latency.mean",
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
    )

    blocking = setting.ratio(0.001, "the share of calls that may find no slot")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        bulkhead, latency = policy.bulkhead, policy.facts.latency
        if bulkhead is None or bulkhead.mode == "disabled":
            return
        if bulkhead.scope != "operation":
            return
        load = context.load(site)
        mean = None if latency is None else latency.mean
        if load.per_client is None or mean is None:
            lacking = [] if mean else [site.place.join("facts.latency.mean")]
            yield from missing([*lacking, *load.missing])
            return
        offered = in_flight(load.per_client, mean)
        slots = bulkhead.max_concurrent
        traffic = (
            f"{show.rate(load.per_client)} x {show.duration(mean)} = "
            f"{show.number(offered)} calls in flight"
        )
        refused = erlang_b(slots, offered)
        if over(offered, slots):
            message, severity = f"{traffic} > max_concurrent {slots}", None
        elif over(refused, self.blocking):
            message = (
                f"{traffic}: with max_concurrent {slots}, {show.ratio(refused)} of "
                "healthy calls find no slot"
            )
            severity = Severity.WARNING
        else:
            return
        yield self.finding(
            site.place,
            "bulkhead.max_concurrent",
            message,
            severity=severity,
            help=f"set max_concurrent: {slots_for(offered, self.blocking)}",
            fix=mend.set_value(
                site.place,
                "bulkhead.max_concurrent",
                str(slots_for(offered, self.blocking)),
                safe=False,
            ),
        )
