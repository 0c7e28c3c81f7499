"""ID004: queues that hand an item more than once to work that is not idempotent."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import show
from policyctl.lint.context import Context, QueueSite
from policyctl.lint.rule import Outcomes, Rule


class RedeliveryWithoutIdempotency(Rule):
    """A queue can hand one item twice to work that is not idempotent.

    What:
        `consume` or `upload` of a queue names an operation that is `idempotent: false`
        and has no idempotency key (an error). Where nothing is stated, it is a warning.

    Why:
        A queue delivers at least once: after a crash, a lost acknowledgement or a lease
        that ran out, the item comes again, although the work may have been done.

    Bad:
        version: 1
        service: worker
        owner: worker-team
        operations:
          handle:
            transport: http
            idempotent: false
            attempt_timeout: 2s
            budget: 5s
        queues:
          jobs:
            store: sqlite
            path: jobs.db
            max_size: 100
            consume: {operation: worker.handle}

    Good:
        version: 1
        service: worker
        owner: worker-team
        operations:
          handle:
            transport: http
            idempotent: false
            attempt_timeout: 2s
            budget: 5s
            idempotency: {key: [job.id], store: sqlite, path: keys.db}
        queues:
          jobs:
            store: sqlite
            path: jobs.db
            max_size: 100
            consume: {operation: worker.handle}

    Fix:
        Give the operation an idempotency key, or make the work idempotent and say so.

    False positives:
        Work whose nature is not stated: say `idempotent: true`.

    References:
        policyctl runtime semantics, contract C32
    """

    code: ClassVar[str] = "ID004"
    name: ClassVar[str] = "redelivery-without-idempotency"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        for key, worker in (("consume", queue.consume), ("upload", queue.upload)):
            if worker is None or queue.max_deliveries == 1:
                continue
            operation = context.project.find_operation(worker.operation)
            if operation is None or operation.idempotent:
                continue
            if operation.idempotency is not None:
                continue
            stated = operation.idempotent is False
            nature = "not idempotent" if stated else "not stated to be idempotent"
            times = "without limit"
            if queue.max_deliveries is not None:
                times = f"up to {show.count(queue.max_deliveries, 'time')}"
            yield self.finding(
                site.place,
                f"{key}.operation",
                f"{site.place.title} delivers an item {times}, and {operation.id} is "
                f"{nature}",
                severity=None if stated else Severity.WARNING,
                help="add an idempotency key to the operation, or state idempotent: true "
                "if the work can be repeated",
            )
