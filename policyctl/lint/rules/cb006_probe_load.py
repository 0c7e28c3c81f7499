"""CB006: probes of dead callees that take the workers of a caller."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, setting, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context
from policyctl.lint.formulas.breaker import probe_load
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Operation, Service


class ProbeLoad(Rule):
    """Probes of dead callees take a large share of the caller's workers.

    What:
        If all callees with a circuit breaker are dead, their probes bind over 5 % of a
        caller's workers (a warning), or all of them (an error):
        `sum of probes x t / ((T_open + t) x workers)`, with t the time that a probe may
        last.

    Why:
        A short break with a long timeout probes nearly all the time. One published case
        came to 263 % of the capacity, and to 4 % after both numbers were changed.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 2}
        calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 5s
            circuit_breaker: {recovery_timeout: 3s}

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 2}
        calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 5s
            circuit_breaker: {recovery_timeout: 30s, half_open_max_wait: 500ms}

    Fix:
        Lengthen `recovery_timeout`, shorten `attempt_timeout` or `half_open_max_wait`.

    False positives:
        Callees that never die together; the message names the largest share.

    References:
        Shopify Engineering, Your Circuit Breaker is Misconfigured
    """

    code: ClassVar[str] = "CB006"
    name: ClassVar[str] = "probe-load"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = ("caller's facts.workers",)

    share = setting.ratio(0.05, "the share of the workers that is not reported")

    def check_service(self, service: Service, context: Context) -> Outcomes:
        loads: list[tuple[float, Edge]] = []
        workers = service.facts.workers
        for edge in _probed(service, context):
            assert edge.policy is not None
            loads.append((_one(edge.policy, workers or 1), edge))
        if not loads:
            return
        if workers is None:
            yield from missing([f"{service.name}.facts.workers"])
            return
        total = sum(load for load, _ in loads)
        if not over(total, self.share):
            return
        largest, edge = max(loads, key=lambda item: item[0])
        assert edge.policy is not None
        yield self.finding(
            place.of_service(service),
            "facts.workers",
            f"probes of {show.count(len(loads), 'dead callee')} bind "
            f"{show.ratio(total)} of the {show.count(workers, 'worker')} of "
            f"{service.name}, those of "
            f"{edge.policy.id} {show.ratio(largest)}",
            severity=Severity.ERROR if reaches(total, 1) else None,
            help="lengthen recovery_timeout of these callees to 30s, or shorten "
            "half_open_max_wait to the callee's p99",
        )


def _probed(service: Service, context: Context) -> list[Edge]:
    """One edge for each circuit whose probes take a worker.

    Circuits in Redis are left out: the whole fleet shares their probes, and which
    process makes them is unknown.
    """
    nodes = [service.name, *(op.id for op in service.operations.values())]
    edges = [edge for node in nodes for edge in context.graph.outgoing.get(node, ())]
    found: dict[str, Edge] = {}
    for edge in edges:
        policy = edge.policy
        if policy is None or edge.detached or policy.circuit_breaker is None:
            continue
        breaker = policy.circuit_breaker
        if breaker.mode == "enforce" and breaker.store == "memory":
            one = breaker.scope == "service"
            found.setdefault(policy.service if one else policy.id, edge)
    return list(found.values())


def _one(policy: Operation, workers: int) -> float:
    """The share of the workers that the probes of one callee bind."""
    breaker, timeout = policy.circuit_breaker, policy.attempt_timeout
    assert breaker is not None
    lasting = breaker.half_open_max_wait
    if timeout is not None and timeout.total is not None:
        lasting = min(lasting, timeout.total)
    opened = breaker.recovery_timeout.initial
    probes = breaker.half_open_max_calls
    return probes * probe_load(1, 1, lasting, opened, workers)
