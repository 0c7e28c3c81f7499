"""QU008: dead letters that hold less than the queue they come from."""

from __future__ import annotations

from typing import ClassVar

from policyctl.checks.limits import LIMITS
from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, QueueSite
from policyctl.lint.rule import Outcomes, Rule


class DeadLettersFillFirst(Rule):
    """The dead letters hold fewer items than the queue.

    What:
        `dead_letter.max_size` is below `max_size`: one bad release that fails every item
        fills the dead letters before the queue is empty. With `overflow: dead_letter` it
        is a warning, else info. An `external` queue is measured only where it states
        the size of its dead letters.

    Why:
        When the dead letters are full, nothing can leave the queue: items that fail stay
        and come again, and `put` refuses new ones.

    Bad:
        version: 1
        service: worker
        owner: worker-team
        queues:
          jobs:
            store: sqlite
            path: jobs.db
            max_size: 1000
            overflow: dead_letter
            dead_letter: {max_size: 100}

    Good:
        version: 1
        service: worker
        owner: worker-team
        queues:
          jobs:
            store: sqlite
            path: jobs.db
            max_size: 1000
            overflow: dead_letter
            dead_letter: {max_size: 10000}

    Fix:
        Make the dead letters several times as large as the queue.

    False positives:
        Dead letters that somebody empties at once.

    References:
        policyctl runtime semantics, contracts C31 and C32
    """

    code: ClassVar[str] = "QU008"
    name: ClassVar[str] = "dead-letters-fill-first"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        size = queue.dead_letter_max_size
        if size is None or size >= queue.max_size:
            return
        if queue.store == "external" and not site.place.stated("dead_letter.max_size"):
            return
        spills = queue.overflow == "dead_letter"
        better = str(min(max(10_000, 10 * queue.max_size), _MOST))
        yield self.finding(
            site.place,
            "dead_letter.max_size",
            f"dead letters hold {show.count(size, 'item')}, and the queue {queue.max_size}",
            severity=None if spills else Severity.INFO,
            help=f"set dead_letter.max_size: {better}",
            fix=mend.set_value(site.place, "dead_letter.max_size", better, safe=False),
            also=(("max_size", "the queue"),),
        )


_MOST = int(LIMITS["dead_letter.max_size"].maximum)
