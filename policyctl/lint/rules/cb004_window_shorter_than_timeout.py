"""CB004: outcomes arrive after the window that they belong to."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule


class WindowShorterThanTimeout(Rule):
    """The breaker's window is short against the attempt timeout.

    What:
        A rolling `window` is shorter than twice `attempt_timeout`: a warning; shorter
        than `attempt_timeout` itself: an error. A window that no ratio uses, because
        only `failure_threshold` opens the circuit, is worth knowing only.

    Why:
        A hang is counted when its timeout has passed. With a window of about that
        length, failures of one outage never stand in the window together.

    Bad:
        version: 1
        service: mail_api
        owner: mail-team
        operations:
          send:
            transport: http
            idempotent: true
            attempt_timeout: 10s
            budget: 15s
            circuit_breaker: {failure_ratio: 50%, window: 10s, minimum_calls: 5}

    Good:
        version: 1
        service: mail_api
        owner: mail-team
        operations:
          send:
            transport: http
            idempotent: true
            attempt_timeout: 10s
            budget: 15s
            circuit_breaker: {failure_ratio: 50%, window: 30s, minimum_calls: 5}

    Fix:
        Set `window` to at least twice `attempt_timeout`, or shorten the timeout.

    False positives:
        Windows counted in calls are not concerned.

    References:
        Microsoft Learn, .NET resilience: sampling duration and attempt timeout
    """

    code: ClassVar[str] = "CB004"
    name: ClassVar[str] = "window-shorter-than-timeout"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker, timeout = site.policy.circuit_breaker, site.policy.attempt_timeout
        if breaker is None or timeout is None or timeout.total is None:
            return
        window, attempt = breaker.window.seconds, timeout.total
        if window is None or window >= 2 * attempt or breaker.mode == "disabled":
            return
        used = breaker.failure_ratio is not None or breaker.slow_call is not None
        shown, limit = show.duration(window), show.duration(attempt)
        if window < attempt:
            message = f"window {shown} < attempt_timeout {limit}: a hang is counted when its window is over"
            severity = Severity.ERROR
        else:
            message = (
                f"window {shown} < 2 x attempt_timeout {limit}: few outcomes of an "
                "outage stand in the window together"
            )
            severity = Severity.WARNING
        if not used:
            message += ", though only failure_threshold opens this circuit"
            severity = Severity.INFO
        yield self.finding(
            site.place,
            "circuit_breaker.window.seconds",
            message,
            severity=severity,
            help=f"set window: {show.duration(2 * attempt)} or more",
            fix=mend.set_value(
                site.place,
                "circuit_breaker.window.seconds",
                show.duration(2 * attempt),
                safe=False,
            ),
            also=(("attempt_timeout.total", f"one attempt may last {limit}"),),
        )
