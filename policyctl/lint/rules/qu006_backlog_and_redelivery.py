"""QU006: queues that never drain, or that hand work out twice."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, QueueSite
from policyctl.lint.rule import Missing, Outcomes, Rule
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import worst_case


class BacklogAndRedelivery(Rule):
    """The queue does not keep up, or hands out work twice.

    What:
        - The consumers do not serve more than arrives: `mu <= lam` (an error).
        - After an outage of ten minutes the backlog takes longer to drain than
          `max_age` lets items live (a warning).
        - `lease` is shorter than the worst case of the work: an error for `external`
          queues, a warning for ours, whose workers extend leases.
        - `max_deliveries` is off, so that a bad item comes for ever (an error).

    Why:
        A queue has two modes, empty and hopelessly behind, and an outage moves it from
        one to the other. A lease that ends first gives the same item to a second worker.

    Bad:
        version: 1
        service: worker
        owner: worker-team
        operations:
          handle:
            transport: http
            idempotent: true
            attempt_timeout: 20s
            budget: 70s
            retry: {max_attempts: 3, retry_on_status: [502, 504], retry_after: off}
        queues:
          jobs:
            store: external
            max_size: 1000
            lease: 30s
            consume: {operation: worker.handle}

    Good:
        version: 1
        service: worker
        owner: worker-team
        operations:
          handle:
            transport: http
            idempotent: true
            attempt_timeout: 20s
            budget: 70s
            retry: {max_attempts: 3, retry_on_status: [502, 504], retry_after: off}
        queues:
          jobs:
            store: external
            max_size: 1000
            max_age: 1h
            lease: 180s
            max_deliveries: 5
            consume: {operation: worker.handle}

    Fix:
        Add consumers, set `lease` to twice the worst case, bound deliveries.

    False positives:
        External consumers that extend their lease: suppress the rule with that reason.

    References:
        AWS Builders' Library, Avoiding insurmountable queue backlogs
    """

    code: ClassVar[str] = "QU006"
    name: ClassVar[str] = "backlog-and-redelivery"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.rate",
        "operation facts.latency.mean",
        "facts.instances",
    )

    outage = setting.seconds(600.0, "the outage whose backlog must drain")

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        if queue.max_deliveries is None:
            yield self.finding(
                site.place,
                "max_deliveries",
                f"{site.place.title} delivers an item that always fails for ever",
                help="set max_deliveries: 5, after which it goes to the dead letters",
                fix=mend.set_value(site.place, "max_deliveries", "5", safe=False),
            )
        worker = queue.consume or queue.upload
        operation = (
            None if worker is None else context.project.find_operation(worker.operation)
        )
        if operation is None:
            return
        late = self._lease(site, operation)
        if late is not None:
            yield late
        if queue.consume is not None:
            yield from self._throughput(site, operation, context)

    def _lease(self, site: QueueSite, operation: Operation) -> Diagnostic | None:
        longest, lease = worst_case(operation), site.queue.lease
        if math.isinf(longest) or not over(longest, lease):
            return None
        external, twice = site.queue.store == "external", show.ceil_duration(
            2 * longest
        )
        return self.finding(
            site.place,
            "lease",
            f"lease {show.duration(lease)} < {show.duration(longest)}, the worst case of "
            f"{operation.id}: a second worker gets the item while the first still works",
            severity=None if external else Severity.WARNING,
            help=f"set lease: {twice} (twice the worst case)",
            fix=mend.set_value(site.place, "lease", twice, safe=False),
        )

    def _throughput(
        self, site: QueueSite, operation: Operation, context: Context
    ) -> Outcomes:
        queue, latency = site.queue, operation.facts.latency
        arriving = context.traffic.rate(operation.id)
        instances = site.service.facts.instances
        mean = None if latency is None else latency.mean
        for known, path in (
            (arriving, f"{operation.path}.facts.rate"),
            (mean, f"{operation.path}.facts.latency.mean"),
            (instances, f"{site.service.name}.facts.instances"),
        ):
            if known is None:
                yield Missing(path)
        if arriving is None or not mean or instances is None or queue.consume is None:
            return
        workers = queue.consume.concurrency * instances
        served = workers / mean
        numbers = (
            f"{show.count(workers, 'consumer')} at {show.duration(mean)} an item "
            f"{'serves' if workers == 1 else 'serve'} {show.rate(served)}, and "
            f"{show.rate(arriving)} arrive"
        )
        if reaches(arriving, served):
            needed = math.floor(arriving * mean / instances + 1e-9) + 1
            yield self.finding(
                site.place,
                "consume.concurrency",
                f"{numbers}: the queue only grows",
                help=f"set concurrency: {needed} or more",
                fix=mend.set_value(
                    site.place, "consume.concurrency", str(needed), safe=False
                ),
            )
            return
        drain = arriving * self.outage / (served - arriving)
        if queue.max_age is not None and over(drain, queue.max_age):
            yield self.finding(
                site.place,
                "max_age",
                f"{numbers}: the backlog of an outage of {show.duration(self.outage)} "
                f"takes {show.duration(round(drain))} to drain, over max_age "
                f"{show.duration(queue.max_age)}",
                severity=Severity.WARNING,
                help="add consumers, or let items live longer",
                also=(("consume.concurrency", "the consumers"),),
            )
