"""FB003: caches that hide more load than the origin can take."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, show
from policyctl.lint.compare import reaches
from policyctl.lint.context import Context
from policyctl.lint.formulas.load import cold_amplification, origin_rate
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service


class CacheHidesLoad(Rule):
    """The cache hides more load than the origin can take.

    What:
        A service behind a cache (`facts.cache`) gets more requests, before the cache,
        than its capacity. It is an error if requests for one missing key are not
        coalesced; a warning if they are but nothing limits what reaches the service.

    Why:
        A hit ratio of 90 % means ten times the load on the day that the cache is empty.
        The load that the origin recovers from is its own capacity, not that capacity
        divided by the misses.

    Bad:
        version: 1
        service: catalogue
        owner: catalogue-team
        facts: {capacity: 300/s, cache: {hit_ratio: 95%}}
        operations:
          get:
            transport: http
            idempotent: true
            facts: {rate: 3000/s}
            attempt_timeout: 500ms
            budget: 2s
        inbound: {bulkhead: {max_concurrent: 30}}

    Good:
        version: 1
        service: catalogue
        owner: catalogue-team
        facts: {capacity: 300/s, cache: {hit_ratio: 95%, coalesced: true}}
        operations:
          get:
            transport: http
            idempotent: true
            facts: {rate: 3000/s}
            attempt_timeout: 500ms
            budget: 2s
        inbound: {bulkhead: {max_concurrent: 30}}

    Fix:
        Coalesce requests for one key, serve stale values on error, and limit what
        reaches the origin.

    False positives:
        Few distinct keys, so that coalescing alone bounds the load.

    References:
        Huang et al., Metastable Failures in the Wild, OSDI 2022
    """

    code: ClassVar[str] = "FB003"
    name: ClassVar[str] = "cache-hides-load"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "facts.cache",
        "facts.capacity",
        "operation facts.rate",
    )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        cache, capacity = service.facts.cache, service.facts.capacity
        if cache is None:
            return
        coalesced = cache.coalesced is True
        if coalesced and _admits(service):
            return
        if cache.hit_ratio is None:
            yield from missing([f"{service.name}.facts.cache.hit_ratio"])
            return
        loads = [context.traffic.of_operation(op) for op in service.operations.values()]
        rate = sum(
            context.traffic.at_least(op.id) for op in service.operations.values()
        )
        if capacity is None or not reaches(rate, capacity):
            lacking = [fact for load in loads for fact in load.missing_rate]
            lacking += [] if capacity else [f"{service.name}.facts.capacity"]
            yield from missing(lacking)
            return
        warm = origin_rate(rate, cache.hit_ratio)
        yield self.finding(
            place.of_service(service),
            "facts.cache.hit_ratio",
            f"{show.rate(rate)} with {show.ratio(cache.hit_ratio)} hits are "
            f"{show.rate(warm)} at {service.name}; with an empty cache all "
            f"{show.rate(rate)}, {show.number(cold_amplification(cache.hit_ratio))} times "
            f"as much, against a capacity of {show.rate(capacity)}",
            severity=Severity.WARNING if coalesced else None,
            help=(
                "add an inbound bulkhead or rate limit"
                if coalesced
                else "coalesce requests for one key (cache.coalesced: true), serve stale values "
                "on error, and limit what reaches the origin"
            ),
        )


def _admits(service: Service) -> bool:
    inbound = service.inbound
    if inbound is None:
        return False
    limits = (inbound.bulkhead, inbound.rate_limit)
    return any(limit is not None and limit.mode == "enforce" for limit in limits)
