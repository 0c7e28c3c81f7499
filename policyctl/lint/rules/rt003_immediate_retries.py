"""RT003: retries without any wait."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation


class ImmediateRetries(Rule):
    """Retries follow at once, without a wait.

    What:
        The first back-off is 0 s, and so is every one after it. One retry of this kind
        is a warning, two or more are an error.

    Why:
        Retries without a wait meet the callee in the very state that failed them. Under
        contention, the work of N clients that retry at once grows with N squared.

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
        if min(backoff.initial, backoff.max or backoff.initial) > 0:
            return
        key = "initial" if backoff.initial == 0 else "max"
        retries = "all retries"
        if attempts is not None:
            retries = (
                "the only retry" if attempts == 2 else f"all {attempts - 1} retries"
            )
        verb = "follows" if attempts == 2 else "follow"
        yield self.finding(
            site.place,
            f"retry.backoff.{key}",
            f"backoff.{key} is 0s: {retries} of {site.policy.id} {verb} at once",
            severity=Severity.WARNING if attempts == 2 else None,
            help=f"set backoff: {suggested_backoff(site.policy)}",
            fix=_fix(site, key),
        )


def _fix(site: Site, key: str) -> Fix | None:
    """Set the one number that is 0, unless the other contradicts it."""
    first, retry = _first_wait(site.policy), site.policy.retry
    if key == "initial" and retry is not None and retry.backoff.max is not None:
        first = min(first, retry.backoff.max)
    if first == 0:
        return None
    wait = show.duration(first if key == "initial" else 10 * first)
    return mend.set_value(site.place, f"retry.backoff.{key}", wait, safe=False)


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
