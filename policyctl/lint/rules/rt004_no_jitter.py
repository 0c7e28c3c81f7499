"""RT004: many clients that retry in step."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, outcomes, setting, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing


class NoJitter(Rule):
    """Clients retry in step, since the back-off has no jitter.

    What:
        `backoff.jitter` is `none` (or a ratio of 0) and more than one client process
        retries; an error from 100 processes on.

    Why:
        Clients that fail together come back together, in ever the same waves. In the
        published simulation of 100 clients, exponential back-off without jitter took
        63,572 ms and 1,861 calls where full jitter took 4,925 ms and 795 calls.

    Bad:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            facts: {callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 3, backoff: {jitter: none}}

    Good:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            facts: {callers: 8}
            attempt_timeout: 500ms
            budget: 3s
            retry: {max_attempts: 3, backoff: {jitter: full}}

    Fix:
        Set `jitter: full`. The longest possible wait stays the same, so no deadline is
        put at risk.

    False positives:
        A single client that works serially; it is not reported where
        `facts.callers: 1` says so.

    References:
        AWS Architecture Blog, Exponential Backoff And Jitter
        The Site Reliability Workbook, chapter 11, Managing Load
    """

    code: ClassVar[str] = "RT004"
    name: ClassVar[str] = "no-jitter"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = ("operation facts.callers", "facts.instances")

    error_from = setting.count(100, "from this many client processes on it is an error")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None or retry.max_attempts == 1:
            return
        backoff = retry.backoff
        if outcomes.has_jitter(backoff) or backoff.initial == 0 or backoff.max == 0:
            return
        load = context.load(site)
        if load.callers is None:
            yield from missing(load.missing_callers)
            return
        if load.callers < 2:
            return
        yield self.finding(
            site.place,
            "retry.backoff.jitter",
            f"{load.callers} client processes that fail together retry "
            f"{site.policy.id} together, first after exactly "
            f"{show.duration(min(backoff.initial, backoff.max or backoff.initial))}",
            severity=Severity.ERROR if load.callers >= self.error_from else None,
            help="set backoff.jitter: full; the longest wait stays the same",
            fix=mend.set_value(site.place, "retry.backoff.jitter", "full", safe=True),
        )
