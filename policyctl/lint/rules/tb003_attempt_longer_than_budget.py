"""TB003: one attempt may last as long as the whole call."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import outcomes, room, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation


class AttemptLongerThanBudget(Rule):
    """One attempt may use up the whole budget.

    What:
        With retries, `attempt_timeout` is at least `budget.total`, so that no retry can
        follow an attempt that timed out. Without retries, `attempt_timeout` is over
        `budget.total` and can never take effect (a warning). Where timeouts are not
        retried at all, it is worth knowing only.

    Why:
        The retry that the policy promises does not exist for slow failures. The .NET
        resilience handler refuses to start with such numbers.

    Bad:
        version: 1
        service: tax_api
        owner: tax-team
        operations:
          compute:
            transport: http
            idempotent: true
            attempt_timeout: 5s
            budget: 3s
            retry: {max_attempts: 2}

    Good:
        version: 1
        service: tax_api
        owner: tax-team
        operations:
          compute:
            transport: http
            idempotent: true
            attempt_timeout: 900ms
            budget: 3s
            retry: {max_attempts: 2}

    Fix:
        Shorten `attempt_timeout` so that all attempts fit, or lengthen the budget;
        either number may be the wrong one.

    False positives:
        Retries meant for failures that come at once: leave `timeout` out of `retry_on`,
        and the finding drops to info.

    References:
        Microsoft Learn, .NET resilience: HTTP client resilience handler
    """

    code: ClassVar[str] = "TB003"
    name: ClassVar[str] = "attempt-longer-than-budget"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        timeout, budget, retry = policy.attempt_timeout, policy.budget, policy.retry
        if timeout is None or budget is None:
            return
        attempt, total = timeout.total, budget.total
        if attempt is None or total is None or attempt < total:
            return
        attempts = 1 if retry is None else retry.max_attempts
        related = (("budget.total", f"the whole call may last {show.duration(total)}"),)
        if retry is None or attempts == 1:
            if attempt > total:
                yield self.finding(
                    site.place,
                    "attempt_timeout.total",
                    f"attempt_timeout {show.duration(attempt)} > budget "
                    f"{show.duration(total)}: it can never take effect",
                    severity=Severity.WARNING,
                    help=_single_help(policy, attempt, total),
                    also=related,
                )
            return
        sign = ">" if attempt > total else "="
        fast = not outcomes.retries_timeouts(retry)
        yield self.finding(
            site.place,
            "attempt_timeout.total",
            f"attempt_timeout {show.duration(attempt)} {sign} budget "
            f"{show.duration(total)}: no retry can follow an attempt that timed out",
            severity=Severity.INFO if fast else None,
            help=_help(policy, attempt),
            also=related,
        )


def _single_help(policy: Operation, attempt: float, total: float) -> str:
    """Which of the two to change where only one attempt is made."""
    text = show.duration(total)
    if not room.healthy(policy, text):
        return (
            f"set budget: {show.ceil_duration(attempt)}: healthy calls may last longer "
            f"than {text}"
        )
    return f"set attempt_timeout: {text} or less"


def _help(policy: Operation, attempt: float) -> str:
    """Numbers with which all attempts fit and healthy calls still end in time."""
    text = room.fitting(policy)
    budget = show.ceil_duration(room.needed_budget(policy, attempt))
    if text is None:
        return f"set budget: {budget}, or shorten the waits: they alone use it up"
    if not room.healthy(policy, text):
        return (
            f"set budget: {budget}, or lower max_attempts: with attempts of {text}, "
            "which fit, healthy calls would time out"
        )
    return f"set attempt_timeout: {text} or less, or budget: {budget}"
