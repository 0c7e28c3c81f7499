"""RT001: more attempts than help."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, outcomes, setting, show
from policyctl.lint.amplify import LOOP_BACKOFF, eventual_delay, grows
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Backoff


class TooManyAttempts(Rule):
    """More attempts than a struggling callee can use.

    What:
        `max_attempts` is over 3; an error over 5, or when it is unlimited. In services
        of class `batch` it stays a warning. A `control_loop` may try for ever if its
        back-off has jitter and grows to a cap of at least 10 s.

    Why:
        Once three tries have met an overloaded callee, a fourth mostly adds load: all
        clients together multiply the traffic by the number of attempts. gRPC clients
        cap attempts at 5, and 500 retries kept one well-known outage going.

    Bad:
        version: 1
        service: quotes_api
        owner: quotes-team
        operations:
          get_quote:
            transport: http
            idempotent: true
            attempt_timeout: 100ms
            budget: 10m
            retry: {max_attempts: 501, backoff: {max: 200ms}}

    Good:
        version: 1
        service: quotes_api
        owner: quotes-team
        operations:
          get_quote:
            transport: http
            idempotent: true
            attempt_timeout: 100ms
            budget: 10s
            retry: {max_attempts: 3}

    Fix:
        Set `max_attempts: 3`. Work that must not be lost belongs in a queue.

    False positives:
        Loops that must reach their goal at some time, such as leases and replication:
        give the service `class: control_loop` and a back-off that grows to 10 s or more.

    References:
        Site Reliability Engineering, chapter 21, Handling Overload
        gRPC proposal A6, client retries
    """

    code: ClassVar[str] = "RT001"
    name: ClassVar[str] = "too-many-attempts"
    severity: ClassVar[Severity] = Severity.WARNING

    max_attempts = setting.count(3, "the most attempts that are not reported")
    error_above = setting.count(5, "more attempts than this are an error")
    loop_backoff = setting.seconds(
        LOOP_BACKOFF, "the back-off that a control loop must grow to"
    )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None:
            return
        attempts = retry.max_attempts
        if attempts is not None and attempts <= self.max_attempts:
            return
        if site.service.service_class == "control_loop":
            yield from self._check_loop(site, retry.backoff)
            return
        online = site.service.service_class == "online"
        severe = attempts is None or (attempts > self.error_above and online)
        shown = "unlimited attempts" if attempts is None else f"{attempts} attempts"
        factor = "without end" if attempts is None else f"up to {attempts} times"
        yield self.finding(
            site.place,
            "retry.max_attempts",
            f"{shown} are more than {self.max_attempts}: "
            f"when every try fails, the load on {site.policy.id} grows {factor}",
            severity=Severity.ERROR if severe else None,
            help=f"set max_attempts: {self.max_attempts}",
            fix=mend.set_value(
                site.place, "retry.max_attempts", str(self.max_attempts), safe=False
            ),
        )

    def _check_loop(self, site: Site, backoff: Backoff) -> Outcomes:
        longest = eventual_delay(backoff)
        capped = self.loop_backoff <= longest < math.inf
        jittered = outcomes.has_jitter(backoff)
        if capped and jittered:
            return
        least = show.duration(self.loop_backoff)
        help = f"set backoff.max: {least} or more"
        if math.isinf(longest):
            problem = "grows without a cap"
        elif capped:
            problem, help = "has no jitter", "set backoff.jitter: full"
        elif grows(backoff):
            problem = f"never exceeds {show.duration(longest)}"
        else:
            problem = f"stays at {show.duration(longest)}"
            help = "set backoff.multiplier: 2"
            if backoff.max is not None and backoff.max < self.loop_backoff:
                help += f" and max: {least} or more"
        yield self.finding(
            site.place,
            "retry.max_attempts",
            f"a control loop with more than {self.max_attempts} attempts needs a "
            f"back-off with jitter and a cap of at least {least}; this one {problem}",
            severity=Severity.ERROR,
            help=help,
            also=(("retry.backoff", "the back-off"),),
        )
