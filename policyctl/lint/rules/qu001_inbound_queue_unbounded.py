"""QU001: servers whose requests queue without a bound."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, place
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service


class InboundQueueUnbounded(Rule):
    """Requests queue without a bound in front of the service.

    What:
        `inbound` is declared and has no `bulkhead`, or one that does not enforce (a
        warning), so that nothing limits how many requests wait for a worker. Where
        `facts.workers` is not stated it is a warning, since workers may not be bounded.

    Why:
        Once arrivals pass capacity, an unbounded queue grows until every answer comes
        too late. Memory then goes to waiting requests, and collecting it slows the rest.

    Bad:
        version: 1
        service: search_api
        owner: search-team
        facts: {workers: 20}
        inbound: {rate_limit: {rate: 500/s}}

    Good:
        version: 1
        service: search_api
        owner: search-team
        facts: {workers: 20}
        inbound:
          rate_limit: {rate: 500/s}
          bulkhead: {max_concurrent: 20, max_queue: 10, max_wait: 50ms}

    Fix:
        Add `inbound.bulkhead` with as many slots as the process has workers, and a short
        queue.

    False positives:
        A gateway in front enforces the limit: suppress the rule and name it.

    References:
        Huang et al., Metastable Failures in the Wild, OSDI 2022
        AWS Builders' Library, Avoiding insurmountable queue backlogs
    """

    code: ClassVar[str] = "QU001"
    name: ClassVar[str] = "inbound-queue-unbounded"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = ("facts.workers",)

    def check_service(self, service: Service, context: Context) -> Outcomes:
        inbound = service.inbound
        if inbound is None:
            return
        bulkhead, workers = inbound.bulkhead, service.facts.workers
        slots = (
            "max_concurrent: 20" if workers is None else f"max_concurrent: {workers}"
        )
        if bulkhead is None:
            yield self.finding(
                place.of_service(service),
                "inbound",
                f"nothing limits how many requests wait for a worker of {service.name}",
                severity=Severity.WARNING if workers is None else None,
                help=f"add bulkhead: {{{slots}, max_wait: 50ms}} to inbound",
                fix=mend.set_value(
                    place.of_service(service),
                    "inbound.bulkhead",
                    f"{{{slots}, max_wait: 50ms}}",
                    safe=False,
                ),
            )
            if workers is None:
                yield from missing([f"{service.name}.facts.workers"])
        elif bulkhead.mode != "enforce":
            yield self.finding(
                place.of_service(service),
                "inbound.bulkhead.mode",
                f"mode {bulkhead.mode} limits nothing: requests wait for a worker of "
                f"{service.name} without a bound",
                severity=Severity.WARNING,
                help="set mode: enforce once the numbers are known to be right",
            )
