"""RT003: retries without any wait."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, QueueSite, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Backoff, Operation


class ImmediateRetries(Rule):
    """Retries follow at once, without a wait.

    What:
        The first back-off is 0 s, and so is every one after it. One retry of this kind
        is a warning, two or more are an error. Deliveries of a queue item that follow
        each other at once (`redelivery.initial: 0s`) are a warning, and an error where
        nothing bounds them.

    Why:
        Retries without a wait meet the callee in the very state that failed them. Under
        contention, the work of N clients that retry at once grows with N squared. A
        queue item that always fails spends all of its deliveries, or all of its worker,
        before anything has had time to change.

    Bad:
        version: 1
        service: seat_api
        owner: seat-team
        operations:
          get_seats:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 3, backoff: {initial: 0s}}

    Good:
        version: 1
        service: seat_api
        owner: seat-team
        operations:
          get_seats:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 3, backoff: {initial: 50ms, max: 500ms}}

    Fix:
        Begin with the larger of 25 ms and the callee's median latency, double it, and
        cap it at ten times that.

    False positives:
        One immediate retry that is sure to reach another host is sound. The language
        cannot say that, so a suppression with that reason serves.

    References:
        AWS Architecture Blog, Exponential Backoff And Jitter
        Site Reliability Engineering, chapter 21, Handling Overload
    """

    code: ClassVar[str] = "RT003"
    name: ClassVar[str] = "immediate-retries"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None or retry.max_attempts == 1:
            return
        backoff, attempts = retry.backoff, retry.max_attempts
        if backoff.initial > 0:
            return
        retries = "all retries"
        if attempts is not None:
            retries = (
                "the only retry" if attempts == 2 else f"all {attempts - 1} retries"
            )
        verb = "follows" if attempts == 2 else "follow"
        yield self.finding(
            site.place,
            "retry.backoff.initial",
            f"backoff.initial is 0s: {retries} of {site.policy.id} {verb} at once",
            severity=Severity.WARNING if attempts == 2 else None,
            help=f"set backoff: {suggested_backoff(site.policy)}",
            fix=_fix(site, backoff),
        )

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        most = queue.max_deliveries
        if queue.redelivery.initial > 0 or most == 1:
            return
        often = "without end"
        if most is not None:
            often = f"up to {show.count(most - 1, 'time')}"
        yield self.finding(
            site.place,
            "redelivery.initial",
            f"redelivery.initial is 0s: an item of {site.place.title} that fails comes "
            f"again at once, {often}",
            severity=None if most is None else Severity.WARNING,
            help="set redelivery.initial: 1s or more",
            fix=mend.set_value(site.place, "redelivery.initial", "1s", safe=False),
        )


def _fix(site: Site, backoff: Backoff) -> Fix | None:
    """The first wait, or the maximum where that is shorter."""
    first = _first_wait(site.policy)
    if backoff.max is not None:
        first = min(first, backoff.max)
    if first == 0:
        return None
    text = show.duration(first)
    return mend.set_value(site.place, "retry.backoff.initial", text, safe=False)


def _first_wait(policy: Operation) -> float:
    """The larger of 25 ms and the median latency, in seconds."""
    latency = policy.facts.latency
    median = 0.0 if latency is None or latency.p50 is None else latency.p50
    return max(0.025, median)


def suggested_backoff(policy: Operation) -> str:
    """A back-off that begins with the larger of 25 ms and the median latency."""
    initial = _first_wait(policy)
    return (
        f"{{initial: {show.duration(initial)}, multiplier: 2, "
        f"max: {show.duration(10 * initial)}, jitter: full}}"
    )
