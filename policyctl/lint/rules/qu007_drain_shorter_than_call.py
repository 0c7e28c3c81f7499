"""QU007: uploads that cannot finish when the process stops."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, QueueSite
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.worst_case import worst_case


class DrainShorterThanCall(Rule):
    """A stop gives an upload less time than one call may take.

    What:
        `upload.drain` is below the worst case of the operation that sends a batch.

    Why:
        A process that stops gives up after `drain`. A batch that is under way is cut
        off, although the callee may take it, and is sent again after the next start.

    Bad:
        version: 1
        service: edge_agent
        owner: edge-team
        operations:
          send_batch:
            transport: http
            idempotent: true
            attempt_timeout: 10s
            budget: 30s
            retry: {max_attempts: 2, retry_on_status: [502, 504], retry_after: off}
        queues:
          reports:
            store: sqlite
            path: reports.db
            max_size: 1000
            upload: {operation: edge_agent.send_batch, drain: 10s}

    Good:
        version: 1
        service: edge_agent
        owner: edge-team
        operations:
          send_batch:
            transport: http
            idempotent: true
            attempt_timeout: 10s
            budget: 30s
            retry: {max_attempts: 2, retry_on_status: [502, 504], retry_after: off}
        queues:
          reports:
            store: sqlite
            path: reports.db
            max_size: 1000
            upload: {operation: edge_agent.send_batch, drain: 25s}

    Fix:
        Lengthen `drain`, or shorten the operation's budget.

    False positives:
        Processes that must stop at once; the items are kept and sent later, so the rule
        is info where the operation is idempotent.

    References:
        policyctl runtime semantics, contract C35
    """

    code: ClassVar[str] = "QU007"
    name: ClassVar[str] = "drain-shorter-than-call"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        upload = site.queue.upload
        if upload is None:
            return
        operation = context.project.find_operation(upload.operation)
        if operation is None:
            return
        longest = worst_case(operation)
        if math.isinf(longest) or not over(longest, upload.drain):
            return
        yield self.finding(
            site.place,
            "upload.drain",
            f"drain {show.duration(upload.drain)} < {show.duration(longest)}, the worst "
            f"case of {operation.id}: a stop cuts a batch that is under way",
            severity=Severity.INFO if operation.idempotent else None,
            help=f"set drain: {show.ceil_duration(longest)}",
            fix=mend.set_value(
                site.place, "upload.drain", show.ceil_duration(longest), safe=False
            ),
        )
