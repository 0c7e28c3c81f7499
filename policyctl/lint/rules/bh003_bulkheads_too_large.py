"""BH003: bulkheads that together isolate nothing."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, setting, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Bulkhead, Service


class BulkheadsTooLarge(Rule):
    """The bulkheads are too large to isolate.

    What:
        - One bulkhead of a caller is as large as its workers, or all of them together
          have more slots than it has workers (less the rule's `reserve`).
        - The bulkheads of all client processes together let more calls through than the
          callee has workers, and the callee has no limit of its own.

    Why:
        A bulkhead isolates only while callers of other services still find a worker.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100}
        calls: [{to: price_api.get_price}, {to: price_api.get_stock}]
        ---
        version: 1
        service: price_api
        owner: price-team
        defaults:
          transport: http
          idempotent: true
          attempt_timeout: 500ms
          budget: 2s
          bulkhead: {max_concurrent: 100}
        operations:
          get_price: {}
          get_stock: {}

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100}
        calls: [{to: price_api.get_price}, {to: price_api.get_stock}]
        ---
        version: 1
        service: price_api
        owner: price-team
        defaults:
          transport: http
          idempotent: true
          attempt_timeout: 500ms
          budget: 2s
          bulkhead: {max_concurrent: 40}
        operations:
          get_price: {}
          get_stock: {}

    Fix:
        Give each callee the slots that its healthy traffic needs, and keep some workers
        free.

    False positives:
        Callees that are never slow together: allow more with the rule's `overcommit`.

    References:
        Michael Nygard, Release It!, Bulkheads
    """

    code: ClassVar[str] = "BH003"
    name: ClassVar[str] = "bulkheads-too-large"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "facts.workers",
        "facts.instances",
        "operation facts.callers",
    )

    reserve = setting.count(0, "workers that must stay free")
    overcommit = setting.number(1.0, "slots for each worker that are not reported")

    def check_service(self, service: Service, context: Context) -> Outcomes:
        bulkheads = _bulkheads(service, context)
        workers = service.facts.workers
        if not bulkheads:
            return
        if workers is None:
            yield from missing([f"{service.name}.facts.workers"])
            return
        if workers == 1:
            return  # a single worker cannot be shared among callees
        total = sum(bulkhead.max_concurrent for bulkhead in bulkheads.values())
        room = self.overcommit * workers - self.reserve
        largest = max(bulkheads, key=lambda name: bulkheads[name].max_concurrent)
        size = bulkheads[largest].max_concurrent
        if size >= workers:
            message = (
                f"the bulkhead of {largest} has {show.count(size, 'slot')} and {service.name} has "
                f"{show.count(workers, 'worker')}: it isolates nothing"
            )
        elif total > room:
            message = (
                f"{total} slots of {show.count(len(bulkheads), 'bulkhead')} are more than "
                f"{show.number(room)} of the {show.count(workers, 'worker')} of "
                f"{service.name}"
            )
        else:
            return
        yield self.finding(
            place.of_service(service),
            "facts.workers",
            message,
            help=f"share {show.number(max(1.0, room))} slots among these callees by "
            "their healthy traffic",
        )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        bulkhead = site.policy.bulkhead
        callee = context.project.services[site.policy.service]
        if bulkhead is None or bulkhead.mode != "enforce" or _admits(callee):
            return
        workers, instances = callee.facts.workers, callee.facts.instances
        load = context.load(site)
        if workers is None or instances is None or load.callers is None:
            lacking = [] if workers else [f"{callee.name}.facts.workers"]
            lacking += [] if instances else [f"{callee.name}.facts.instances"]
            yield from missing([*lacking, *load.missing_callers])
            return
        slots = load.callers * bulkhead.max_concurrent
        if slots <= workers * instances:
            return
        yield self.finding(
            site.place,
            "bulkhead.max_concurrent",
            f"{_processes(load.callers)} x {bulkhead.max_concurrent} slots = "
            f"{show.count(slots, 'call')}, "
            f"more than the {show.count(workers * instances, 'worker')} of {callee.name}, "
            "which has no inbound limit",
            help=f"set max_concurrent: {max(1, workers * instances // load.callers)}, or "
            f"give {callee.name} an inbound bulkhead",
        )


def _bulkheads(service: Service, context: Context) -> dict[str, Bulkhead]:
    """The bulkheads that a service's own requests wait in, one for each circuit."""
    nodes = [service.name, *(op.id for op in service.operations.values())]
    found: dict[str, Bulkhead] = {}
    for node in nodes:
        for edge in context.graph.outgoing.get(node, ()):
            policy = edge.policy
            if policy is None or edge.detached or policy.bulkhead is None:
                continue
            if policy.bulkhead.mode == "enforce":
                shared = policy.bulkhead.scope == "service"
                name = policy.service if shared else policy.id
                found.setdefault(name, policy.bulkhead)
    return found


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _admits(service: Service) -> bool:
    """Whether a service limits what comes in."""
    inbound = service.inbound
    if inbound is None:
        return False
    limits = (inbound.bulkhead, inbound.rate_limit)
    return any(limit is not None and limit.mode == "enforce" for limit in limits)
