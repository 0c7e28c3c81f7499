"""QU002: queues whose last request is served when nobody waits for it."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint import mend, place, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.formulas.concurrency import queue_wait
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Bulkhead, Operation, Service


class QueueLongerThanCallersWait(Rule):
    """The last request of a full queue is served after its caller gave up.

    What:
        The wait in a full `inbound.bulkhead` queue plus the mean service time,
        `Q S / c + S`, is longer than the `attempt_timeout` of every caller (an error),
        or of the least patient one (a warning). `max_wait` bounds the wait. Where all
        callers pass their budget on in the header that `inbound.budget` reads, expired
        requests leave the queue unserved, and it is info.

    Why:
        A queue longer than its callers' patience turns all work into waste: in a model
        of a server for 300 requests/s with 1 s of patience, queues worth up to 1.1 s
        recovered within a second, and one worth 1.5 s never did.

    Bad:
        version: 1
        service: search_api
        owner: search-team
        facts: {workers: 10, service_time: {mean: 100ms}}
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
        inbound:
          bulkhead: {max_concurrent: 10, max_queue: 1000, max_wait: 1m}

    Good:
        version: 1
        service: search_api
        owner: search-team
        facts: {workers: 10, service_time: {mean: 100ms}}
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
        inbound:
          bulkhead: {max_concurrent: 10, max_queue: 70, max_wait: 1s}

    Fix:
        Shorten the queue to 80 % of what the least patient caller waits for, or bound
        the wait with `max_wait`.

    False positives:
        Servers that drop expired requests before serving them; ours does if callers
        pass their budget on.

    References:
        Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021
        AWS Builders' Library, Avoiding insurmountable queue backlogs
    """

    code: ClassVar[str] = "QU002"
    name: ClassVar[str] = "queue-longer-than-callers-wait"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = ("facts.service_time.mean", "facts.workers")

    def check_service(self, service: Service, context: Context) -> Outcomes:
        bulkhead = None if service.inbound is None else service.inbound.bulkhead
        if bulkhead is None or bulkhead.max_queue == 0 or bulkhead.max_wait == 0:
            return
        times = service.facts.service_time
        if times is None or times.mean is None:
            yield from missing([f"{service.name}.facts.service_time.mean"])
            return
        callers = _callers(service, context)
        if not callers:
            return
        known = service.facts.workers
        workers = min(bulkhead.max_concurrent, math.inf if known is None else known)
        wait = queue_wait(bulkhead.max_queue, int(workers), times.mean)
        lasting = min(wait, bulkhead.max_wait) + times.mean
        least = min(timeout for timeout, _policy in callers)
        if over(lasting, least):
            yield self._late(service, bulkhead, times.mean, int(workers), callers)
        elif known is None and over(bulkhead.max_wait + times.mean, least):
            yield from missing([f"{service.name}.facts.workers"])

    def _late(
        self,
        service: Service,
        bulkhead: Bulkhead,
        mean: float,
        workers: int,
        callers: list[Caller],
    ) -> Diagnostic:
        patience = [timeout for timeout, _policy in callers]
        wait = queue_wait(bulkhead.max_queue, workers, mean)
        key, text = (
            "max_queue",
            f"{bulkhead.max_queue} x {show.duration(mean)} / {workers}",
        )
        if bulkhead.max_wait < wait:
            key, text = "max_wait", f"max_wait {show.duration(bulkhead.max_wait)}"
        lasting = min(wait, bulkhead.max_wait) + mean
        every = over(lasting, max(patience))
        who = "every caller" if every else "the least patient caller"
        room = max(0.0, min(patience) - mean)
        limit = int(0.8 * room * workers / mean + 1e-9) if mean else bulkhead.max_queue
        return self.finding(
            place.of_service(service),
            f"inbound.bulkhead.{key}",
            f"the last request of a full queue is served after {show.duration(lasting)} "
            f"({text} + {show.duration(mean)}), when {who} has given up "
            f"({show.duration(max(patience) if every else min(patience))})",
            severity=_severity(service, callers, every),
            help=f"set max_queue: {limit}, or max_wait: {show.floor_duration(room)}",
            fix=mend.set_value(
                place.of_service(service),
                "inbound.bulkhead.max_queue",
                str(limit),
                safe=False,
            ),
        )


Caller = tuple[float, Operation]


def _severity(service: Service, callers: list[Caller], every: bool) -> Severity | None:
    if all(_drops_expired(service, policy) for _timeout, policy in callers):
        return Severity.INFO
    return None if every else Severity.WARNING


def _drops_expired(service: Service, caller: Operation) -> bool:
    """Whether the server knows when a request of this caller is no longer wanted."""
    budget = None if service.inbound is None else service.inbound.budget
    read = None if budget is None else budget.header
    sent = None if caller.budget is None else caller.budget.header
    if read is None or sent is None:
        return False
    return read.name.lower() == sent.name.lower()


def _callers(service: Service, context: Context) -> list[Caller]:
    """The attempt timeouts of all callers in seconds, overrides included."""
    found: list[Caller] = []
    for operation in service.operations.values():
        policies = [operation]
        for edge in context.graph.callers(operation.id):
            if edge.call is not None and edge.call.policy is not None:
                policies.append(edge.call.policy)
        for policy in policies:
            timeout = policy.attempt_timeout
            if timeout is not None and timeout.total is not None:
                found.append((timeout.total, policy))
    return found
