"""TL002: queues and bulkheads whose waiting nobody sees."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Service


class WaitingInvisible(Rule):
    """Queues or bulkheads work without metrics.

    What:
        A service has queues, or bulkheads in which calls wait, and `telemetry.metrics`
        is not set.

    Why:
        The age of the oldest item and the number of waiting calls show an overload long
        before errors do.

    Bad:
        version: 1
        service: worker
        owner: worker-team
        queues:
          jobs: {store: sqlite, path: jobs.db, max_size: 100}

    Good:
        version: 1
        service: worker
        owner: worker-team
        telemetry: {metrics: prometheus}
        queues:
          jobs: {store: sqlite, path: jobs.db, max_size: 100}

    Fix:
        Set `telemetry: {metrics: prometheus}`, and alert on the age
        of the oldest item.

    False positives:
        Platforms that export these metrics by themselves.

    References:
        AWS Builders' Library, Avoiding insurmountable queue backlogs
    """

    code: ClassVar[str] = "TL002"
    name: ClassVar[str] = "waiting-invisible"
    severity: ClassVar[Severity] = Severity.INFO

    def check_service(self, service: Service, context: Context) -> Outcomes:
        if service.telemetry.metrics is not None:
            return
        places = [f"queue {name}" for name in service.queues]
        places += [
            f"the bulkhead of {operation.name}"
            for operation in service.operations.values()
            if operation.bulkhead is not None and operation.bulkhead.max_wait > 0
        ]
        bulkhead = None if service.inbound is None else service.inbound.bulkhead
        if bulkhead is not None and bulkhead.max_wait > 0:
            places.append("the inbound bulkhead")
        if not places:
            return
        shown = places if len(places) <= 3 else [*places[:2], f"{len(places) - 2} more"]
        yield self.finding(
            place.of_service(service),
            "telemetry.metrics",
            f"waiting in {show.words(shown)} leaves no metrics",
            help="set telemetry: {metrics: prometheus}",
        )
