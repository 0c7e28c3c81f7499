"""QU003: queues that are deep for steady traffic."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, place, setting, show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Service


class QueueDeeperThanWorkers(Rule):
    """The request queue is deep for steady traffic.

    What:
        A stated `inbound.bulkhead.max_queue` is over half of `max_concurrent`, and
        requests may wait in it.

    Why:
        With steady traffic a queue of half the thread pool absorbs what randomness
        brings; what goes beyond only adds latency once the service is overloaded.

    Bad:
        version: 1
        service: search_api
        owner: search-team
        inbound:
          bulkhead: {max_concurrent: 100, max_queue: 1000, max_wait: 50ms}

    Good:
        version: 1
        service: search_api
        owner: search-team
        inbound:
          bulkhead: {max_concurrent: 100, max_queue: 50, max_wait: 50ms}

    Fix:
        Set `max_queue` to half of `max_concurrent` or less.

    False positives:
        Traffic that comes in bursts, such as the fan-in of many parallel calls.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
    """

    code: ClassVar[str] = "QU003"
    name: ClassVar[str] = "queue-deeper-than-workers"
    severity: ClassVar[Severity] = Severity.INFO

    share = setting.number(
        0.5, "waiting requests for each worker that are not reported"
    )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        bulkhead = None if service.inbound is None else service.inbound.bulkhead
        spot = place.of_service(service)
        if bulkhead is None or bulkhead.max_wait == 0:
            return
        if not spot.stated("inbound.bulkhead.max_queue"):
            return
        allowed = self.share * bulkhead.max_concurrent
        if bulkhead.max_queue <= allowed:
            return
        yield self.finding(
            spot,
            "inbound.bulkhead.max_queue",
            f"max_queue {bulkhead.max_queue} > {show.number(self.share)} x max_concurrent "
            f"{bulkhead.max_concurrent}",
            help=f"set max_queue: {int(allowed)} unless traffic comes in bursts",
            fix=mend.set_value(
                spot, "inbound.bulkhead.max_queue", str(int(allowed)), safe=False
            ),
        )
