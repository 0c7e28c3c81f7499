"""FB002: fallbacks that fall over when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import setting, show
from policyctl.lint.amplify import hit_ratio
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.load import origin_rate
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Operation, Service


class FallbackCannotCarryLoad(Rule):
    """The fallback cannot carry the load of the primary.

    What:
        If all primaries that fall back to a service fail together, their first tries and
        the service's own load reach its capacity (an error) or 80 % of it (a warning).
        Behind a cache (`facts.cache`) only what misses it counts; FB003 speaks of the
        day that the cache is empty.

    Why:
        A fallback runs seldom and then with the whole load at once. One that is sized for
        its usual traffic turns an outage of one service into an outage of two.

    Bad:
        version: 1
        service: quotes_a
        owner: quotes-team
        operations:
          get:
            transport: http
            idempotent: true
            facts: {rate: 5000/s}
            attempt_timeout: 500ms
            budget: 2s
            fallback: {operation: quotes_b.get}
        ---
        version: 1
        service: quotes_b
        owner: quotes-team
        facts: {capacity: 800/s}
        operations:
          get:
            transport: http
            idempotent: true
            facts: {rate: 100/s}
            attempt_timeout: 500ms
            budget: 2s

    Good:
        version: 1
        service: quotes_a
        owner: quotes-team
        operations:
          get:
            transport: http
            idempotent: true
            facts: {rate: 500/s}
            attempt_timeout: 500ms
            budget: 2s
            fallback: {operation: quotes_b.get}
        ---
        version: 1
        service: quotes_b
        owner: quotes-team
        facts: {capacity: 800/s}
        operations:
          get:
            transport: http
            idempotent: true
            facts: {rate: 100/s}
            attempt_timeout: 500ms
            budget: 2s

    Fix:
        Fall back to a value, or limit the fallback with `rate_limit` and give it a
        fallback to a value of its own.

    False positives:
        Fallbacks that a rate limit bounds: the limit counts instead of the rate.

    References:
        AWS Builders' Library, Avoiding fallback in distributed systems
    """

    code: ClassVar[str] = "FB002"
    name: ClassVar[str] = "fallback-cannot-carry-load"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = ("facts.capacity", "operation facts.rate")

    share = setting.ratio(0.8, "the share of the capacity that is not reported")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        fallback = site.policy.fallback
        if site.edge is not None or fallback is None or fallback.operation is None:
            return
        other = context.project.find_operation(fallback.operation)
        if other is None:
            return
        target = context.project.services[other.service]
        capacity = target.facts.capacity
        rate = context.traffic.rate(site.policy.id)
        if capacity is None or rate is None:
            lacking = [] if capacity else [f"{target.name}.facts.capacity"]
            lacking += [] if rate is not None else [site.place.join("facts.rate")]
            yield from missing(lacking)
            return
        moved, own = _moved(target, context), _own(target, context)
        arriving, hits = moved + own, hit_ratio(target)
        total = origin_rate(arriving, hits)
        if not over(total, self.share * capacity):
            yield from missing(_unknown(target, context))
            return
        yield self.finding(
            site.place,
            "fallback.operation",
            f"{show.rate(moved)} of fallbacks + {show.rate(own)} of its own = "
            f"{show.rate(arriving)}{_missed(total, hits)} at {target.name}, "
            f"{show.ratio(total / capacity)} of its capacity {show.rate(capacity)}",
            severity=None if reaches(total, capacity) else Severity.WARNING,
            help="fall back to a value, or bound the fallback with a rate_limit",
        )


def _missed(total: float, hits: float) -> str:
    return f", with {show.ratio(hits)} hits {show.rate(total)}" if hits else ""


def _moved(target: Service, context: Context) -> float:
    """First tries/s that move to a service when all its primaries fail together."""
    total = 0.0
    for operation, fallback in _primaries(target, context):
        rate, limit = context.traffic.at_least(operation.id), fallback.rate_limit
        if limit is not None and limit.mode == "enforce":
            shared = limit.store == "redis"
            clients = 1 if shared else context.traffic.callers(operation) or 1
            rate = min(rate, limit.rate * clients)
        total += rate
    return total


def _primaries(
    target: Service, context: Context
) -> Iterator[tuple[Operation, Operation]]:
    """Operations that fall back to a service, each with the operation they fall to."""
    for operation in context.project.operations():
        name = None if operation.fallback is None else operation.fallback.operation
        other = None if name is None else context.project.find_operation(name)
        if other is not None and other.service == target.name:
            yield operation, other


def _own(target: Service, context: Context) -> float:
    return sum(context.traffic.at_least(op.id) for op in target.operations.values())


def _unknown(target: Service, context: Context) -> Iterator[str]:
    """Facts without which the load is only a lower bound.

    An operation that nothing calls is there for the fallback alone.
    """
    for operation in target.operations.values():
        if context.graph.callers(operation.id):
            yield from context.traffic.of_operation(operation).missing_rate
    for operation, other in _primaries(target, context):
        load, limit = context.traffic.of_operation(operation), other.rate_limit
        yield from load.missing_rate
        if limit is not None and limit.mode == "enforce" and limit.store != "redis":
            yield from load.missing_callers
