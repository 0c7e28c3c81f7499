"""GR005: services whose planned load is beyond the load that they recover from."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import amplify, place, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context
from policyctl.lint.formulas.load import hidden_capacity
from policyctl.lint.graph import Edge
from policyctl.lint.paths import Way
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service


class HiddenCapacity(Rule):
    """The planned load is beyond what the service recovers from.

    What:
        All callers' first tries, multiplied by their attempts when everything fails,
        reach the capacity: `sum of lam x A >= C`. Callers further up that repeat the
        calls count, too. The load that the service still recovers from by itself, its
        hidden capacity, is `C / A`. For services marked `critical` it is an error. If
        that is so only with one instance lost, it is info.

    Why:
        Between the hidden and the advertised capacity a service runs well until the
        first disturbance, and then does not come back when the disturbance ends.

    Bad:
        version: 1
        service: store
        owner: store-team
        facts: {capacity: 600/s}
        operations:
          read:
            transport: http
            idempotent: true
            facts: {rate: 240/s, callers: 4}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 3}

    Good:
        version: 1
        service: store
        owner: store-team
        facts: {capacity: 600/s}
        operations:
          read:
            transport: http
            idempotent: true
            facts: {rate: 240/s, callers: 4}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 2, budget: {ratio: 10%, refill: success, floor: 1/s}}

    Fix:
        Bound retries with a budget, or lower attempts, until `lam x A` is below 90 % of
        the capacity.

    False positives:
        Capacity that is not known well: state where it comes from in `facts.source`.

    References:
        Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021
    """

    code: ClassVar[str] = "GR005"
    name: ClassVar[str] = "hidden-capacity"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "facts.capacity",
        "operation facts.rate",
        "operation facts.callers",
    )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        capacity = service.facts.capacity
        if capacity is None:
            if _multiplies(service) or _way_to(service, context):
                yield from missing([f"{service.name}.facts.capacity"])
            return
        if not service.operations:
            return
        demand = amplify.demand_along_paths(service, context)
        if not reaches(demand.attempts, capacity) or demand.first == 0:
            yield from missing(demand.missing)
            yield from self._with_one_less(service, demand, capacity)
            return
        factor = demand.factor
        recovers = 0.0 if math.isinf(factor) else hidden_capacity(capacity, factor)
        source = service.facts.source
        along = _along(service, demand, context)
        yield self.finding(
            place.of_service(service),
            "facts.capacity",
            f"{show.rate(demand.first)} planned, but overloaded {service.name} "
            f"{_recovery(recovers)}: capacity {show.rate(capacity)} / "
            f"{_many(factor, service, context)} attempts{along}"
            + ("" if source is None else f" (capacity from {source})"),
            severity=Severity.ERROR if service.critical else None,
            help=_help(demand.first, capacity),
        )

    def _with_one_less(
        self, service: Service, demand: amplify.Demand, capacity: float
    ) -> Outcomes:
        """The same with one instance lost, which is only worth knowing."""
        instances = service.facts.instances
        if instances is None or instances < 2 or demand.first == 0:
            return
        left = capacity * (instances - 1) / instances
        if not reaches(demand.attempts, left):
            return
        yield self.finding(
            place.of_service(service),
            "facts.instances",
            f"with one of {instances} instances lost, {show.rate(demand.first)} x "
            f"{show.number(demand.factor)} attempts = {show.rate(demand.attempts)} reach "
            f"what is left of the capacity, {show.rate(left)}",
            severity=Severity.INFO,
            help=_help(demand.first, left),
        )


def _recovery(rate: float) -> str:
    """At which rate it recovers, if at any that can be told from none."""
    if rate < 1e-6:
        return "does not recover by itself"
    return f"recovers only below {show.rate(rate)}"


def _many(factor: float, service: Service, context: Context) -> str:
    """The attempts of one first try; along long paths these are beyond any float."""
    way = _way_to(service, context) if math.isinf(factor) else None
    return show.number(factor) if way is None else show.power(way.weight)


def _along(service: Service, demand: amplify.Demand, context: Context) -> str:
    """The path that most of the attempts come along, if more than direct callers."""
    if not over(demand.attempts, amplify.demand(service, context).attempts):
        return ""
    way = _way_to(service, context)
    if way is None:
        return ""
    edges, whole = _last_edges(way)
    paths = context.retry_paths
    product = show.factors(edges, lambda edge: (edge.caller, paths.factor(edge)))
    return f", with {'' if whole else '... x '}{product} on one path"


def _way_to(service: Service, context: Context) -> Way | None:
    """The path with the largest product of attempts to a service, if any repeats."""
    paths = context.retry_paths
    ways: list[Way] = []
    for operation in service.operations.values():
        ways += paths.through.get(operation.id, {}).values()
        if operation.id in paths.ending:
            ways.append(paths.ending[operation.id])
    best = max(ways, key=lambda way: way.weight, default=None)
    return None if best is None or best.weight == 0 else best


def _last_edges(way: Way) -> tuple[list[Edge], bool]:
    """The last retrying edges of a path, and whether these are all; paths can be long."""
    found: list[Edge] = []
    step: Way | None = way
    for _ in range(_LONGEST_WALK):
        if step is None or step.edge is None or step.retrying is None:
            return found[::-1], True
        if step.retrying is step.edge:
            if len(found) == _MOST_FACTORS:
                break
            found.append(step.edge)
        step = step.before
    return found[::-1], False


_MOST_FACTORS = 5
_LONGEST_WALK = 200


def _multiplies(service: Service) -> bool:
    """Whether retries, hedges or layers hide some of the capacity, whatever it is."""
    return any(
        (op.retry is not None and op.retry.max_attempts != 1)
        or op.hedge is not None
        or amplify.layer_attempts(service) > 1
        for op in service.operations.values()
        if op.transport != "local"
    )


def _help(rate: float, capacity: float) -> str:
    allowed = 0.9 * capacity / rate
    if allowed <= 1:
        return (
            f"add capacity: first tries alone use {show.ratio(rate / capacity)} of it"
        )
    return (
        f"bound retries so that there are below {show.number(allowed)} attempts for each "
        "first try, with a retry budget or fewer attempts: together 90% of capacity"
    )
