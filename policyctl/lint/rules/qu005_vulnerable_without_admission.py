"""QU005: callees that retries can overload and that admit everything."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import amplify, place, show
from policyctl.lint.compare import reaches
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service


class VulnerableWithoutAdmission(Rule):
    """A service that retries can overload admits everything.

    What:
        When all attempts fail, what the callers send reaches the capacity of the
        service, and it has neither an inbound bulkhead nor an inbound rate limit that
        enforces. For services marked `critical` it is an error.

    Why:
        A server that turns away what it cannot serve keeps serving the rest. One that
        admits everything serves nobody in time.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s, workers: 30, service_time: {mean: 100ms}}
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
        facts: {capacity: 300/s, workers: 30, service_time: {mean: 100ms}}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 2, budget: {ratio: 10%, floor: 1/s}}
        inbound:
          bulkhead: {max_concurrent: 30, max_queue: 15, max_wait: 50ms}

    Fix:
        Add an inbound bulkhead of about `C x S x 1.2` slots over all instances.

    False positives:
        A mesh or gateway sheds load in front of the service: suppress the rule and name
        it.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
        AWS Builders' Library, Using load shedding to avoid overload
    """

    code: ClassVar[str] = "QU005"
    name: ClassVar[str] = "vulnerable-without-admission"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "facts.capacity",
        "operation facts.rate",
        "operation facts.callers",
    )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        capacity = service.facts.capacity
        if not service.operations or _admits(service):
            return
        demand = amplify.demand(service, context)
        if capacity is None:
            if _is_retried(service, context):
                yield from missing([f"{service.name}.facts.capacity", *demand.missing])
            return
        if not demand.first or not reaches(demand.attempts, capacity):
            yield from missing(demand.missing)
            return
        shown = "without limit"
        if not math.isinf(demand.attempts):
            shown = f"become {show.rate(demand.attempts)}"
        yield self.finding(
            place.of_service(service),
            "inbound",
            f"{show.rate(demand.first)} {shown} when all attempts fail, at a capacity of "
            f"{show.rate(capacity)}, and {service.name} admits everything",
            severity=Severity.ERROR if service.critical else None,
            help=_help(service, capacity),
        )


def _is_retried(service: Service, context: Context) -> bool:
    """Whether anybody sends more than one attempt for a call of this service."""
    policies = list(service.operations.values())
    for operation in service.operations.values():
        calls = (edge.call for edge in context.graph.callers(operation.id))
        policies += [c.policy for c in calls if c is not None and c.policy is not None]
    several = any(p.hedge is not None or amplify.attempts_of(p) > 1 for p in policies)
    return several or amplify.layer_attempts(service) > 1


def _admits(service: Service) -> bool:
    inbound = service.inbound
    if inbound is None:
        return False
    limits = (inbound.bulkhead, inbound.rate_limit)
    return any(limit is not None and limit.mode == "enforce" for limit in limits)


def _help(service: Service, capacity: float) -> str:
    times, instances = service.facts.service_time, service.facts.instances or 1
    if times is None or times.mean is None:
        return "add an inbound bulkhead"
    slots = max(1, math.ceil(1.2 * capacity * times.mean / instances - 1e-9))
    return (
        f"add inbound.bulkhead: {{max_concurrent: {slots}}} (C x S x 1.2 per process)"
    )
