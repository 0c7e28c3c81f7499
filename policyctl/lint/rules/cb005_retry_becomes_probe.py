"""CB005: the call that opened the circuit goes on to probe it."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.attempts import longest_wait
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation, Recovery
from policyctl.units import MAX_DURATION, parse_duration


class RetryBecomesProbe(Rule):
    """The circuit opens for less time than a retry waits.

    What:
        `recovery_timeout`, its jitter taken off, is no longer than the longest wait
        before a retry (as far as the budget leaves room for it). The call whose failure
        opened the circuit then comes back as its half-open probe. A shorter wait ends in
        a rejection, which ends the call.

    Why:
        The break is meant to leave the callee alone. When it is over before the next
        attempt, the same failing request opens and probes the circuit in turn.

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
            retry: {max_attempts: 3, backoff: {initial: 3s, max: 6s}}
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
            retry: {max_attempts: 3, backoff: {initial: 3s, max: 6s}}
            circuit_breaker: {recovery_timeout: 15s}

    Fix:
        Lengthen `recovery_timeout`, or lower `backoff.max`.

    False positives:
        Control loops, which probe on purpose, are not concerned.

    References:
        Polly documentation, circuit breaker strategy: break duration and retry delays
    """

    code: ClassVar[str] = "CB005"
    name: ClassVar[str] = "retry-becomes-probe"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker, retry = site.policy.circuit_breaker, site.policy.retry
        if breaker is None or retry is None or breaker.mode != "enforce":
            return
        attempts = retry.max_attempts
        if (
            attempts is None
            or attempts == 1
            or site.service.service_class == "control_loop"
        ):
            return  # only a control loop goes on without end
        wait, room = longest_wait(retry.backoff, attempts - 1), _room(site.policy)
        recovery = breaker.recovery_timeout
        shortest = recovery.initial * (1 - recovery.jitter)
        if over(shortest, wait) or reaches(shortest, room):
            return
        wait = min(wait, room)
        advice = _advice(wait, recovery.jitter)
        yield self.finding(
            site.place,
            "circuit_breaker.recovery_timeout.initial",
            f"{_shown(recovery)} <= {show.duration(wait)} of wait before a retry: the call "
            "that opened the circuit can be its probe",
            help=_help(advice, recovery),
            fix=_fix(site, advice, recovery),
            also=(("retry.backoff", "the waits"),),
        )


def _help(advice: str | None, recovery: Recovery) -> str:
    if advice is None:
        return "lower retry.backoff.max, and recovery_timeout.jitter if it is near 100%"
    if _is_over(advice, recovery):
        return f"set recovery_timeout: {{initial: {advice}}}, with max at least as long"
    return f"set recovery_timeout: {advice}"


def _is_over(advice: str, recovery: Recovery) -> bool:
    return recovery.max is not None and parse_duration(advice) > recovery.max


def _fix(site: Site, advice: str | None, recovery: Recovery) -> Fix | None:
    if advice is None or _is_over(advice, recovery):
        return None
    at = "circuit_breaker.recovery_timeout.initial"
    return mend.set_value(site.place, at, advice, safe=False)


def _room(policy: Operation) -> float:
    """The wait that the budget leaves no room for, with an attempt before it."""
    budget = policy.budget
    if budget is None or budget.total is None:
        return math.inf
    return budget.total - budget.minimum


def _shown(recovery: Recovery) -> str:
    stated = f"recovery_timeout {show.duration(recovery.initial)}"
    if not recovery.jitter:
        return stated
    shortest = recovery.initial * (1 - recovery.jitter)
    return f"{stated} - {show.ratio(recovery.jitter)} = {show.duration(shortest)}"


def _advice(wait: float, jitter: float) -> str | None:
    """A break that outlasts the wait by half, where one can."""
    if jitter >= 1 or 1.5 * wait / (1 - jitter) > MAX_DURATION:
        return None
    return show.ceil_duration(1.5 * wait / (1 - jitter))
