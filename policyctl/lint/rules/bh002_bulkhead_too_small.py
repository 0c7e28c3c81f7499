"""BH002: bulkheads that healthy traffic fills."""

from __future__ import annotations

import math
from collections import Counter
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.concurrency import in_flight, refused_share, slots_for
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Bulkhead


class BulkheadTooSmall(Rule):
    """Healthy traffic fills the bulkhead.

    What:
        By Little's law, one process has `lam_i x mean` calls in flight. More than
        `max_concurrent` is an error. Fewer, but so many that random arrivals find all
        slots taken for over 0.1 % of the calls (Erlang's loss formula), is a warning;
        those that get a slot within `max_wait` and `max_queue` are not counted, nor
        calls that come from the workers of queues alone, no more of them than slots.

    Why:
        A bulkhead that is too small turns away healthy calls, or makes them wait.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 1, latency: {mean: 100ms, p50: 90ms, p99: 300ms}}
            attempt_timeout: 500ms
            budget: 2s
            bulkhead: {max_concurrent: 15}

    Good:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 200/s, callers: 1, latency: {mean: 100ms, p50: 90ms, p99: 300ms}}
            attempt_timeout: 500ms
            budget: 2s
            bulkhead: {max_concurrent: 36}

    Fix:
        Set `max_concurrent` to the number that the help line works out.

    False positives:
        Bulkheads that shed on purpose: suppress the rule with that reason.

    References:
        Little, A Proof for the Queuing Formula L = lambda W, 1961
        Erlang, Solution of some Problems in the Theory of Probabilities, 1917
    """

    code: ClassVar[str] = "BH002"
    name: ClassVar[str] = "bulkhead-too-small"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.latency.mean",
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
    )

    blocking = setting.ratio(0.001, "the share of calls that may find no slot")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        bulkhead, latency = policy.bulkhead, policy.facts.latency
        if bulkhead is None or bulkhead.mode == "disabled":
            return
        if bulkhead.scope != "operation":
            return
        load = context.load(site)
        mean = None if latency is None else latency.mean
        if load.per_client is None or mean is None:
            lacking = [] if mean else [site.place.join("facts.latency.mean")]
            yield from missing([*lacking, *load.missing])
            return
        offered = in_flight(load.per_client, mean)
        slots = bulkhead.max_concurrent
        traffic = (
            f"{show.rate(load.per_client)} x {show.duration(mean)} = "
            f"{show.number(offered)} {'call' if offered == 1 else 'calls'} in flight"
        )
        refused = _refused(bulkhead, slots, offered, mean)
        if over(offered, slots):
            message, severity = f"{traffic} > max_concurrent {slots}", None
        elif over(refused, self.blocking) and not _in_turn(site, context):
            message = (
                f"{traffic}: with max_concurrent {slots}, {show.ratio(refused)} of "
                f"healthy calls find no slot{_within(bulkhead)}"
            )
            severity = Severity.WARNING
        else:
            return
        better = str(_enough(bulkhead, offered, mean, self.blocking))
        yield self.finding(
            site.place,
            "bulkhead.max_concurrent",
            message,
            severity=severity,
            help=f"set max_concurrent: {better}",
            fix=mend.set_value(
                site.place, "bulkhead.max_concurrent", better, safe=False
            ),
        )


def _in_turn(site: Site, context: Context) -> bool:
    """Whether only workers of queues make the calls, and each of them has a slot."""
    bulkhead = site.policy.bulkhead
    if bulkhead is None or context.graph.callers(site.policy.id):
        return False
    workers: Counter[str] | None = context.memory.get("workers of queues")
    if workers is None:
        workers = context.memory["workers of queues"] = _workers(context)
    return 0 < workers[site.policy.id] <= bulkhead.max_concurrent


def _workers(context: Context) -> Counter[str]:
    """How many workers of queues, in one process, call each operation."""
    found: Counter[str] = Counter()
    for service in context.project.services.values():
        for queue in service.queues.values():
            if queue.consume is not None:
                found[queue.consume.operation] += queue.consume.concurrency
            if queue.upload is not None:
                found[queue.upload.operation] += 1
    return found


def _refused(bulkhead: Bulkhead, slots: int, offered: float, mean: float) -> float:
    """The share of calls that get no slot in time, if there were this many slots."""
    return refused_share(slots, offered, mean, bulkhead.max_queue, bulkhead.max_wait)


def _within(bulkhead: Bulkhead) -> str:
    if bulkhead.max_wait > 0 and bulkhead.max_queue > 0:
        return f" within {show.duration(bulkhead.max_wait)}"
    return ""


def _enough(bulkhead: Bulkhead, offered: float, mean: float, blocking: float) -> int:
    """The fewest slots that turn away at most ``blocking``, at least the mean need."""
    low, high = max(1, math.ceil(offered)), slots_for(offered, blocking)
    while low < high:
        middle = (low + high) // 2
        if _refused(bulkhead, middle, offered, mean) <= blocking:
            high = middle
        else:
            low = middle + 1
    return high
