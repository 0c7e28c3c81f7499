"""TB001: remote calls without a limit for one attempt."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Latency, Operation


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
    suggestion = suggested_timeout(policy.facts.latency)
    if suggestion is None:
        return (
            "set attempt_timeout to the larger of the p99.9 and 3 x the p99 of its "
            "latency, or transport: local if it never leaves the process"
        )
    return f"set attempt_timeout: {suggestion}"


def _fix(site: Site) -> Fix | None:
    """The timeout that the help line works out from measured latency."""
    if site.policy.kind == "stream":
        return None
    suggestion = suggested_timeout(site.policy.facts.latency)
    if suggestion is None:
        return None
    text = suggestion.partition(" ")[0]
    return mend.set_value(site.place, "attempt_timeout.total", text, safe=False)


def suggested_timeout(latency: Latency | None) -> str | None:
    """``1.5s (the larger of …)`` from measured latency, or None without it."""
    if latency is None or not latency.p99:
        return None
    tripled = 3 * latency.p99
    if latency.p999 is not None and latency.p999 > tripled:
        return f"{show.ceil_duration(latency.p999)} (p99.9)"
    return f"{show.ceil_duration(tripled)} (3 x p99 of {show.duration(latency.p99)})"
