"""TB001: remote calls without a limit for one attempt."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, room, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation
from policyctl.units import parse_duration


class AttemptTimeoutMissing(Rule):
    """Nothing bounds one attempt.

    What:
        An operation without `attempt_timeout.total`, unless its transport is `local`. A
        stream needs `idle` (or `total`) instead. Where a budget bounds the only attempt
        and no circuit breaker waits for its outcome, it is a warning, else an error.

    Why:
        A call that hangs holds its thread, slot and connection until the process is
        restarted. With retries, the first hung attempt uses up the whole budget. A hang
        that never ends is never counted, so no circuit breaker opens.

    Bad:
        version: 1
        service: ledger_api
        owner: ledger-team
        operations:
          post_entry:
            transport: http
            idempotent: true
            budget: 2s
            retry: {max_attempts: 3}

    Good:
        version: 1
        service: ledger_api
        owner: ledger-team
        operations:
          post_entry:
            transport: http
            idempotent: true
            attempt_timeout: 400ms
            budget: 2s
            retry: {max_attempts: 3}

    Fix:
        Set `attempt_timeout` to the larger of the p99.9 and three times the p99 of the
        callee's latency. State `facts.latency`, and the help line works it out.

    False positives:
        Work that never leaves the process: say `transport: local`. Streams and long
        polls: say `kind: stream` and bound the waits with `idle`.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
        Finagle user guide, Clients: the request timeout is unbounded by default
        Azure Architecture Center, Circuit Breaker pattern
    """

    code: ClassVar[str] = "TB001"
    name: ClassVar[str] = "attempt-timeout-missing"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        if policy.transport == "local" or _is_bounded(policy):
            return
        yield self.finding(
            site.place,
            "attempt_timeout",
            f"nothing bounds one attempt of {policy.id}{_consequence(policy)}",
            severity=_severity(policy),
            help=_help(policy),
            fix=_fix(site),
        )


def _is_bounded(policy: Operation) -> bool:
    timeout = policy.attempt_timeout
    if timeout is None:
        return False
    if timeout.total is not None:
        return True
    return policy.kind == "stream" and timeout.idle is not None


def _total(policy: Operation) -> float | None:
    return None if policy.budget is None else policy.budget.total


def _attempts(policy: Operation) -> int | None:
    return 1 if policy.retry is None else policy.retry.max_attempts


def _consequence(policy: Operation) -> str:
    total, attempts = _total(policy), _attempts(policy)
    if total is None:
        return ": a hung call never ends"
    if attempts is None or attempts > 1:
        tries = "unlimited" if attempts is None else str(attempts)
        return (
            f": a hung first attempt uses the whole budget of {show.duration(total)}, "
            f"and none of the {tries} attempts follows it"
        )
    return f": only the budget of {show.duration(total)} ends it"


def _severity(policy: Operation) -> Severity:
    single = _attempts(policy) == 1 and policy.circuit_breaker is None
    bounded = _total(policy) is not None
    return Severity.WARNING if single and bounded else Severity.ERROR


def _help(policy: Operation) -> str:
    if policy.kind == "stream":
        return "set attempt_timeout: {idle: …} to the longest gap between two items"
    text, why, budget = _suggestion(policy)
    if text is None:
        return (
            "set attempt_timeout to the larger of the p99.9 and 3 x the p99 of its "
            "latency, or transport: local if it never leaves the process"
        )
    return f"set attempt_timeout: {text} ({why}){budget}"


def _fix(site: Site) -> Fix | None:
    """The timeout that the help line works out, unless the budget has to change too."""
    text, _why, budget = _suggestion(site.policy)
    if site.policy.kind == "stream" or text is None or budget:
        return None
    return mend.set_value(site.place, "attempt_timeout.total", text, safe=False)


def _suggestion(policy: Operation) -> tuple[str | None, str, str]:
    """A timeout from measured latency, why, and what the budget needs for it."""
    latency = policy.facts.latency
    if latency is None or not latency.p99:
        return None, "", ""
    better, why = 3 * latency.p99, f"3 x p99 of {show.duration(latency.p99)}"
    if latency.p999 is not None and over(latency.p999, better):
        better, why = latency.p999, "p99.9"
    text, budget = room.advised(policy, better)
    if not reaches(parse_duration(text), better):
        why = "the longest that fits into the budget"
    return text, why, budget
