"""CB005: the call that opened the circuit goes on to probe it."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.worst_case import longest_waits
from policyctl.units import MAX_DURATION


class RetryBecomesProbe(Rule):
    """The circuit opens for less time than one call's retries last.

    What:
        `recovery_timeout` is no longer than all back-off waits of a call together plus
        the attempts before its last: `T_open <= W(n - 1) + (n - 1) t`. A call that saw
        the circuit open can then come back as its half-open probe.

    Why:
        The break is meant to leave the callee alone. When it ends inside one call's
        retries, the same failing request opens and probes the circuit in turn.

    Bad:
        version: 1
        service: seat_api
        owner: seat-team
        operations:
          hold:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 20s
            retry: {max_attempts: 3, backoff: {initial: 1s, max: 4s}}
            circuit_breaker: {recovery_timeout: 5s}

    Good:
        version: 1
        service: seat_api
        owner: seat-team
        operations:
          hold:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 20s
            retry: {max_attempts: 3, backoff: {initial: 1s, max: 4s}}
            circuit_breaker: {recovery_timeout: 15s}

    Fix:
        Lengthen `recovery_timeout`, or shorten the back-off.

    False positives:
        Control loops, which probe on purpose, are not concerned.

    References:
        Polly documentation, circuit breaker strategy: break duration and retry delays
    """

    code: ClassVar[str] = "CB005"
    name: ClassVar[str] = "retry-becomes-probe"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        breaker, retry, timeout = (
            policy.circuit_breaker,
            policy.retry,
            policy.attempt_timeout,
        )
        if breaker is None or retry is None or timeout is None or timeout.total is None:
            return
        attempts = retry.max_attempts
        if attempts is None or attempts == 1 or breaker.mode != "enforce":
            return
        if site.service.service_class == "control_loop":
            return
        retries = attempts - 1
        waits = longest_waits(retry.backoff, retries)
        busy = waits + retries * timeout.total
        opened = breaker.recovery_timeout.initial
        if over(opened, busy):
            return
        yield self.finding(
            site.place,
            "circuit_breaker.recovery_timeout.initial",
            f"recovery_timeout {show.duration(opened)} <= {show.duration(busy)} of one "
            f"call's retries ({show.duration(waits)} of waits + {retries} x "
            f"{show.duration(timeout.total)}): the call that opened the circuit can be "
            "its probe",
            help=_help(busy),
            fix=mend.set_value(
                site.place,
                "circuit_breaker.recovery_timeout.initial",
                show.ceil_duration(1.5 * busy),
                safe=False,
            ),
            also=(
                ("retry.backoff", "the waits"),
                ("attempt_timeout.total", "one attempt"),
            ),
        )


def _help(busy: float) -> str:
    """A break that outlasts the retries, where one can."""
    if 1.5 * busy > MAX_DURATION:
        return "lower retry.max_attempts or retry.backoff.max: no break can outlast these waits"
    return f"set recovery_timeout: {show.ceil_duration(1.5 * busy)}"
