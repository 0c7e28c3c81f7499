"""BH001: one hanging callee that takes all workers of a caller."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import setting, show
from policyctl.lint.compare import reaches
from policyctl.lint.context import Context
from policyctl.lint.formulas.concurrency import bulkhead_size, in_flight
from policyctl.lint.graph import Edge
from policyctl.lint.hanging import hanging, sharing
from policyctl.lint.rule import Outcomes, Rule, missing


class PoolDrainedByOneCallee(Rule):
    """One hanging callee can take all workers of its caller.

    What:
        A call has no bulkhead, and if the callee hangs, the calls in flight reach all
        workers of the caller's process (an error) or half of them (a warning):
        `lam_i x t >= workers`. Calls that a request makes beside each other
        (`mode: parallel`) hold its one worker together and count once.

    Why:
        Each waiting call holds a worker until its timeout. Requests that never needed
        the hanging callee then find no worker either.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100}
        operations:
          page:
            transport: local
            facts: {rate: 50/s}
            calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            attempt_timeout: 3s
            budget: 5s

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100}
        operations:
          page:
            transport: local
            facts: {rate: 50/s}
            calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            attempt_timeout: 3s
            budget: 5s
            bulkhead: {max_concurrent: 20, max_wait: 0s}

    Fix:
        Add a bulkhead for what healthy traffic needs, `a + 3 sqrt(a)` slots, or shorten
        `attempt_timeout`.

    False positives:
        Callers whose waiting requests hold no worker: do not state `facts.workers`.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
        Michael Nygard, Release It!, Bulkheads
    """

    code: ClassVar[str] = "BH001"
    name: ClassVar[str] = "pool-drained-by-one-callee"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "caller's facts.workers and facts.instances",
        "operation facts.rate",
    )

    share = setting.ratio(0.5, "the share of the workers from which it is a warning")

    def check_edge(self, edge: Edge, context: Context) -> Outcomes:
        policy = edge.policy
        if policy is None or policy.attempt_timeout is None or edge.detached:
            return
        attempt, budget = policy.attempt_timeout.total, policy.budget
        guarded = policy.bulkhead is not None and policy.bulkhead.mode == "enforce"
        if attempt is None or guarded or policy.transport == "local":
            return
        load, workers = context.traffic.of_edge(edge), edge.service.facts.workers
        if load.per_client is None or workers is None:
            lacking = [] if workers else [f"{edge.service.name}.facts.workers"]
            yield from missing([*load.missing, *lacking])
            return
        if budget is not None and budget.total is not None:
            attempt = min(attempt, budget.total)
        bound = hanging(policy, load.per_client, attempt, sharing(edge))
        if not reaches(bound.calls, self.share * workers):
            return
        latency = policy.facts.latency
        time = None if latency is None else latency.p99 or latency.mean
        help = "add a bulkhead with as many slots as healthy traffic needs"
        if time is not None:
            slots = bulkhead_size(in_flight(load.per_client, time))
            help = f"add bulkhead: {{max_concurrent: {slots}}}"
            if slots >= workers:
                help = (
                    f"add workers, or shorten attempt_timeout: healthy traffic alone "
                    f"needs {show.count(slots, 'slot')}, and a bulkhead of so many "
                    "isolates nothing"
                )
        yield self.finding(
            context.place_of(edge),
            "attempt_timeout.total",
            f"if {policy.id} hangs, {bound.text} bind "
            f"{show.ratio(bound.share(workers))} of the {show.count(workers, 'worker')} of "
            f"{edge.service.name}",
            severity=None if reaches(bound.calls, workers) else Severity.WARNING,
            help=help,
        )
