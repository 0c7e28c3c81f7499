"""TB004: attempts that the budget leaves no time for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, outcomes, room, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.attempts import (
    Reachable,
    fast_run_time,
    reachable_attempts,
    run_time,
)
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation, Retry
from policyctl.resolve.worst_case import local_wait


class AttemptsDoNotFit(Rule):
    """Not all attempts fit into the budget.

    What:
        With every attempt as slow as `attempt_timeout` allows and every back-off as
        long as it can be, fewer than `max_attempts` attempts end within `budget.total`.
        It is an error if fewer than two do, since then a slow call is never retried in
        full. Waits for a bulkhead slot or a rate-limit token count for each attempt. A
        policy that never retries timeouts is measured with attempts that fail fast.

    Why:
        Attempts that cannot happen hide the real policy: the numbers promise four
        tries and users get two. Istio's own demonstration breaks in this way: a caller
        with 3 s and one retry gives up after 6 s, below a callee that waits 10 s.

    Bad:
        version: 1
        service: quotes_api
        owner: quotes-team
        operations:
          get_quote:
            transport: http
            idempotent: true
            attempt_timeout: 10s
            budget: 30s
            retry:
              max_attempts: 4
              backoff: {initial: 2s, multiplier: 2, max: 10s}

    Good:
        version: 1
        service: quotes_api
        owner: quotes-team
        operations:
          get_quote:
            transport: http
            idempotent: true
            attempt_timeout: 3s
            budget: 12s
            retry:
              max_attempts: 3
              backoff: {initial: 200ms, multiplier: 2, max: 1s}

    Fix:
        Lower `max_attempts` to what fits, or shorten `attempt_timeout`; the help line
        works out both. Raise the budget only if the caller can wait that long.

    False positives:
        None if retries are meant for fast failures alone: take `timeout` out of
        `retry_on`, and the rule measures them as such.

    References:
        gRPC proposal A6, client retries: the deadline spans all attempts
        Istio documentation, fault injection task
    """

    code: ClassVar[str] = "TB004"
    name: ClassVar[str] = "attempts-do-not-fit"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        retry, timeout, budget = policy.retry, policy.attempt_timeout, policy.budget
        if retry is None or timeout is None or budget is None:
            return
        attempts, attempt, total = retry.max_attempts, timeout.total, budget.total
        if attempts is None or attempts < 2 or attempt is None or total is None:
            return
        if attempt >= total:
            return  # TB003 speaks of these
        wait = local_wait(policy.bulkhead, policy.rate_limit)
        fit = reachable_attempts(
            attempt, wait, retry.backoff, attempts, total, budget.minimum
        )
        if fit.full >= attempts or _fits_fast_failures(policy, retry, wait):
            return
        longest = run_time(attempt, wait, retry.backoff, attempts)
        yield self.finding(
            site.place,
            "retry.max_attempts",
            f"worst case {show.duration(longest)} > {show.duration(total)}: "
            f"{_reached(fit, attempts)}",
            severity=Severity.ERROR if fit.full < 2 else None,
            help=_help(policy, attempt, fit),
            fix=_fix(site, fit),
            also=(
                ("budget.total", f"the whole call may last {show.duration(total)}"),
                ("attempt_timeout.total", f"one attempt {show.duration(attempt)}"),
                *_waits(policy),
            ),
        )


def _fix(site: Site, fit: Reachable) -> Fix | None:
    """As many attempts as can complete; where that is no retry, shorter ones."""
    if fit.full >= 2:
        most = str(fit.full)
        return mend.set_value(site.place, "retry.max_attempts", most, safe=False)
    text = room.fitting(site.policy)
    if text is None or not room.healthy(site.policy, text):
        return None
    return mend.set_value(site.place, "attempt_timeout.total", text, safe=False)


def _waits(policy: Operation) -> Iterator[tuple[str, str]]:
    """The waits that are in the worst case beside the attempts themselves."""
    if policy.bulkhead is not None and policy.bulkhead.max_wait:
        wait = show.duration(policy.bulkhead.max_wait)
        yield "bulkhead.max_wait", f"each attempt may wait {wait} for a slot"
    if policy.rate_limit is not None and policy.rate_limit.max_wait:
        wait = show.duration(policy.rate_limit.max_wait)
        yield "rate_limit.max_wait", f"each attempt may wait {wait} for a token"


def _reached(fit: Reachable, attempts: int) -> str:
    complete = "none" if fit.full == 0 else f"only {fit.full}"
    return f"{complete} of {attempts} attempts can complete, {fit.start} can start"


def _fits_fast_failures(policy: Operation, retry: Retry, wait: float) -> bool:
    """Whether timeouts are not retried and all attempts fit if failures come fast."""
    timeout, budget = policy.attempt_timeout, policy.budget
    if outcomes.retries_timeouts(retry) or timeout is None or budget is None:
        return False
    assert timeout.total is not None
    assert budget.total is not None
    assert retry.max_attempts is not None
    latency = policy.facts.latency
    measured = None if latency is None else latency.p50 or latency.mean
    failing = measured or timeout.connect or 0.0
    longest = fast_run_time(
        timeout.total, failing, wait, retry.backoff, retry.max_attempts
    )
    return not over(longest, budget.total)


def _help(policy: Operation, attempt: float, fit: Reachable) -> str:
    """Both ways out, with their numbers."""
    ways: list[str] = []
    text = room.fitting(policy)
    if fit.full >= 1:
        ways.append(f"set max_attempts: {fit.full}")
    if text is not None and room.healthy(policy, text):
        ways.append(f"set attempt_timeout: {text} or less")
    elif text is not None and not ways:
        needed = show.ceil_duration(room.needed_budget(policy, attempt))
        ways.append(f"set budget: {needed}, since attempts that fit are too short")
    if not ways:
        return "shorten the waits: they alone use up the budget"
    return ", or ".join(ways)
