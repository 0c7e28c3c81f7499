"""RL001: rate limits below the traffic that they are for."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import amplify, place, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.load import origin_rate
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.lint.sharing import redis_store
from policyctl.resolve.policy import RateLimit, Service


class RateLimitBelowTraffic(Rule):
    """The rate limit refuses healthy traffic all the time.

    What:
        The rate that all client processes may send together (`rate x N` for limits of
        each process, `rate` for `store: redis`) is below the stated rate of first tries.
        What the limits allow together beyond the callee's capacity is a warning, too.
        `inbound.rate_limit` is measured in the same way, for all instances of the
        service, against the first tries of all its operations.

    Why:
        The first kind turns calls away for ever; the second protects nobody, since each
        process believes that the whole limit is its own.

    Bad:
        version: 1
        service: geo_api
        owner: geo-team
        operations:
          locate:
            transport: http
            idempotent: true
            facts: {rate: 500/s, callers: 4}
            attempt_timeout: 500ms
            budget: 2s
            rate_limit: {rate: 100/s}

    Good:
        version: 1
        service: geo_api
        owner: geo-team
        operations:
          locate:
            transport: http
            idempotent: true
            facts: {rate: 500/s, callers: 4}
            attempt_timeout: 500ms
            budget: 2s
            rate_limit: {rate: 150/s}

    Fix:
        Set the rate of each process to its share of the planned traffic and some room.

    False positives:
        Limits that shed on purpose: suppress the rule with that reason.

    References:
        policyctl runtime semantics, contract C23
    """

    code: ClassVar[str] = "RL001"
    name: ClassVar[str] = "rate-limit-below-traffic"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
        "callee's facts.capacity",
    )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        limit = site.policy.rate_limit
        if limit is None or limit.mode != "enforce":
            return
        load, name = context.load(site), site.policy.service
        clients = 1 if limit.store == "redis" else load.callers
        capacity = context.project.services[name].facts.capacity
        if clients is None:
            yield from missing(load.missing)
            return
        allowed = limit.rate * clients
        shown = show.rate(allowed)
        if clients > 1:
            shown = f"{clients} processes x {show.rate(limit.rate)} = {shown}"
        if load.rate is not None and over(load.rate, allowed):
            share = 1 - allowed / load.rate
            yield self.finding(
                site.place,
                "rate_limit.rate",
                f"{shown} < {show.rate(load.rate)} of first tries: "
                f"{show.ratio(share)} of healthy calls are refused",
                help=f"set rate: {show.ceil_rate(load.rate / clients)} or more",
            )
            return
        yield from missing(load.missing_rate)
        if capacity is None:
            yield from missing([f"{name}.facts.capacity"])
        elif over(allowed, capacity):
            yield self.finding(
                site.place,
                "rate_limit.rate",
                f"{shown} > capacity {show.rate(capacity)} of {name}: the "
                "limit does not protect it",
                severity=Severity.WARNING,
                help=_lower(site, limit, capacity, clients, load.rate),
            )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        limit = None if service.inbound is None else service.inbound.rate_limit
        if limit is None or limit.mode != "enforce":
            return
        instances = 1 if limit.store == "redis" else service.facts.instances
        if instances is None:
            yield from missing([f"{service.name}.facts.instances"])
            return
        operations = service.operations.values()
        known = sum(context.traffic.at_least(op.id) for op in operations)
        arriving = origin_rate(known, amplify.hit_ratio(service))
        allowed = limit.rate * instances
        if not over(arriving, allowed):
            for operation in operations:
                yield from missing(context.traffic.of_operation(operation).missing_rate)
            return
        shown = show.rate(allowed)
        if instances > 1:
            shown = f"{instances} instances x {show.rate(limit.rate)} = {shown}"
        yield self.finding(
            place.of_service(service),
            "inbound.rate_limit.rate",
            f"{shown} < {show.rate(arriving)} of first tries: "
            f"{show.ratio(1 - allowed / arriving)} of healthy requests are refused",
            help=f"set rate: {show.ceil_rate(arriving / instances)} or more",
        )


def _lower(
    site: Site, limit: RateLimit, capacity: float, clients: int, rate: float | None
) -> str:
    """Limits that fit into the capacity: of each process, or one for all of them."""
    if rate is not None and over(rate, capacity):
        return f"add capacity: first tries alone are {show.rate(rate)}"
    each = f"set rate: {show.floor_rate(capacity / clients)} or less"
    if limit.store == "redis":
        return each
    kept = reaches(capacity, limit.rate) and (rate is None or reaches(limit.rate, rate))
    total = "" if kept else f", and rate: {show.floor_rate(capacity)} for all processes"
    return f"{each}, or {redis_store(site.service)}{total}"
