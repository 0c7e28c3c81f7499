"""QU009: deliveries that the age limit leaves no time for."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, QueueSite
from policyctl.lint.formulas.attempts import reachable_attempts
from policyctl.lint.formulas.horizon import as_backoff
from policyctl.lint.rule import Outcomes, Rule


class DeliveriesDoNotFitAge(Rule):
    """Items get too old before their last delivery.

    What:
        With every lease used up and every wait as long as it can be, fewer than
        `max_deliveries` deliveries begin within `max_age`.

    Why:
        The numbers promise five tries, and items leave for the dead letters after three.

    Bad:
        version: 1
        service: worker
        owner: worker-team
        queues:
          jobs:
            store: sqlite
            path: jobs.db
            max_size: 100
            max_age: 2m
            lease: 30s
            max_deliveries: 5
            redelivery: {initial: 10s, multiplier: 2, max: 1m}

    Good:
        version: 1
        service: worker
        owner: worker-team
        queues:
          jobs:
            store: sqlite
            path: jobs.db
            max_size: 100
            max_age: 1h
            lease: 30s
            max_deliveries: 5
            redelivery: {initial: 10s, multiplier: 2, max: 1m}

    Fix:
        Raise `max_age`, or lower `max_deliveries` to what fits.

    False positives:
        Work that usually fails at once, long before its lease ends.

    References:
        AWS Builders' Library, Avoiding insurmountable queue backlogs
    """

    code: ClassVar[str] = "QU009"
    name: ClassVar[str] = "deliveries-do-not-fit-age"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        if queue.max_age is None or queue.max_deliveries is None:
            return
        fit = reachable_attempts(
            queue.lease, 0.0, as_backoff(queue), queue.max_deliveries, queue.max_age
        )
        if fit.start >= queue.max_deliveries:
            return
        yield self.finding(
            site.place,
            "max_deliveries",
            f"only {fit.start} of {queue.max_deliveries} deliveries of "
            f"{show.duration(queue.lease)} each begin within max_age "
            f"{show.duration(queue.max_age)}",
            help=f"set max_deliveries: {fit.start}, or raise max_age",
            fix=mend.set_value(
                site.place, "max_deliveries", str(fit.start), safe=False
            ),
            also=(("max_age", "the age limit"), ("lease", "one delivery")),
        )
