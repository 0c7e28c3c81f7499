"""BH005: services that scale on CPU while their workers wait."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, setting, show
from policyctl.lint.compare import reaches
from policyctl.lint.context import Context
from policyctl.lint.graph import Edge
from policyctl.lint.hanging import Hanging, hanging, sharing
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service


class CpuScalingHidesWaiting(Rule):
    """The service scales on CPU, but waiting is what fills it.

    What:
        `facts.autoscale.metric` is `cpu`, and one hanging callee would bind 30 % or more
        of the workers: `lam_i x t >= 0.3 x workers`.

    Why:
        Blocked workers use no CPU. A service that waits looks idle, and the scaler takes
        instances away while it needs more of them.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100, autoscale: {metric: cpu, target: 0.6}}
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
            attempt_timeout: 800ms
            budget: 2s

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100, autoscale: {metric: concurrency, target: 60}}
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
            attempt_timeout: 800ms
            budget: 2s

    Fix:
        Scale on requests in flight or on queue length.

    False positives:
        Event-loop services, whose waiting requests cost little.

    References:
        Slack Engineering, Slack's Outage on January 4th 2021
    """

    code: ClassVar[str] = "BH005"
    name: ClassVar[str] = "cpu-scaling-hides-waiting"
    severity: ClassVar[Severity] = Severity.INFO
    facts: ClassVar[tuple[str, ...]] = (
        "facts.autoscale",
        "facts.workers",
        "facts.instances",
        "operation facts.rate",
    )

    share = setting.ratio(0.3, "the share of the workers that a hang may bind")

    def check_service(self, service: Service, context: Context) -> Outcomes:
        scale, workers = service.facts.autoscale, service.facts.workers
        if scale is None or scale.metric.lower() != "cpu":
            return
        if workers is None:
            yield from missing([f"{service.name}.facts.workers"])
            return
        nodes = [service.name, *(op.id for op in service.operations.values())]
        worst: tuple[Hanging, Edge] | None = None
        lacking: list[str] = []
        for node in nodes:
            for edge in context.graph.outgoing.get(node, ()):
                bound = _bound(edge, context)
                if bound is None and _patience(edge) is not None:
                    lacking += context.traffic.of_edge(edge).missing
                if bound is not None and (
                    worst is None or bound.calls > worst[0].calls
                ):
                    worst = (bound, edge)
        if worst is None or not reaches(worst[0].calls, self.share * workers):
            yield from missing(lacking)
            return
        bound, edge = worst
        yield self.finding(
            place.of_service(service),
            "facts.autoscale.metric",
            f"{service.name} scales on cpu, but if {edge.callee} hangs, {bound.text} "
            f"wait and use none: {show.ratio(bound.share(workers))} of its "
            f"{show.count(workers, 'worker')}",
            help="scale on requests in flight: metric: concurrency",
        )


def _bound(edge: Edge, context: Context) -> Hanging | None:
    """Calls of one process that wait if the callee hangs, where it is known."""
    rate, attempt = context.traffic.of_edge(edge).per_client, _patience(edge)
    if edge.policy is None or rate is None or attempt is None:
        return None
    return hanging(edge.policy, rate, attempt, sharing(edge))


def _patience(edge: Edge) -> float | None:
    """How long a worker waits for the callee, where a timeout says so."""
    policy = edge.policy
    if policy is None or edge.detached or policy.transport == "local":
        return None
    if policy.attempt_timeout is None or policy.attempt_timeout.total is None:
        return None
    attempt, budget = policy.attempt_timeout.total, policy.budget
    if budget is None or budget.total is None:
        return attempt
    return min(attempt, budget.total)
