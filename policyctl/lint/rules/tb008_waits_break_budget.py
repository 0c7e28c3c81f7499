"""TB008: waits for slots, tokens and connections that break the budget."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import At, Outcomes, Rule, missing
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import local_wait, longest_waits


class WaitsBreakBudget(Rule):
    """Waiting for a slot takes the time that the call needs.

    What:
        Each attempt may wait for a bulkhead slot, a rate-limit token and a pooled
        connection. These waits together are at least as long as `attempt_timeout`, or
        the attempts would fit into the budget without them and do not with them.

    Why:
        The caller spends this time too. An attempt that waited for most of its budget
        begins when its answer is no longer wanted.

    Bad:
        version: 1
        service: seat_api
        owner: seat-team
        operations:
          get_seats:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 5s
            bulkhead: {max_concurrent: 20, max_wait: 2s}

    Good:
        version: 1
        service: seat_api
        owner: seat-team
        operations:
          get_seats:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 5s
            bulkhead: {max_concurrent: 20, max_wait: 50ms}

    Fix:
        Set `max_wait` to about a tenth of `attempt_timeout`.

    False positives:
        None if the facts are right.

    References:
        resilience4j documentation, RateLimiter: the default wait is 5 s
    """

    code: ClassVar[str] = "TB008"
    name: ClassVar[str] = "waits-break-budget"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = ("caller's facts.pool.acquire_timeout",)

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        timeout = policy.attempt_timeout
        acquire = _acquire(site, context)
        wait = local_wait(policy.bulkhead, policy.rate_limit, acquire)
        if timeout is None or timeout.total is None:
            return
        attempt = timeout.total
        if wait and reaches(wait, attempt):
            message = (
                f"each attempt may wait {show.duration(wait)} before its "
                f"{show.duration(attempt)} begin"
            )
        else:
            broken = _breaks(policy, attempt, wait)
            if broken is None:
                yield from missing(_unstated(site, context))
                return
            message = broken
        at, room = _longest(policy, acquire), _fitting(policy, attempt)
        help = "no wait fits: shorten attempt_timeout, or raise the budget"
        if reaches(room, _LEAST):
            help = f"keep the waits to {show.floor_duration(min(wait, room))} in all"
        yield self.finding(
            site.place,
            at,
            message,
            help=help,
            fix=_fix(site, at, room - (wait - _waits(policy, acquire)[at])),
            also=_places(policy),
        )


_LEAST = 0.001
"""Seconds below which a wait is not worth a setting."""


def _fix(site: Site, at: str, wait: float) -> Fix | None:
    """Bound the one wait of the policy itself; a pool's wait is a fact."""
    if at == "attempt_timeout" or over(_LEAST, wait):
        return None
    return mend.set_value(site.place, at, show.floor_duration(wait), safe=False)


def _fitting(policy: Operation, attempt: float) -> float:
    """The longest wait before each attempt: a tenth of it, or what the budget leaves."""
    retry, budget = policy.retry, policy.budget
    total = None if budget is None else budget.total
    attempts = 1 if retry is None else retry.max_attempts
    if total is None or attempts is None:
        return 0.1 * attempt
    backoff = 0.0 if retry is None else longest_waits(retry.backoff, attempts - 1)
    needed = attempts * attempt + backoff
    if over(needed, total):
        return 0.1 * attempt
    return min(0.1 * attempt, max(0.0, total - needed) / attempts)


def _acquire(site: Site, context: Context) -> float:
    """The longest wait for a connection among the callers, where it is stated."""
    edges = [site.edge] if site.edge else context.graph.callers(site.policy.id)
    pools = [edge.service.facts.pool for edge in edges]
    return max((pool.acquire_timeout or 0.0 for pool in pools if pool), default=0.0)


def _unstated(site: Site, context: Context) -> list[str]:
    """The acquire timeouts that callers with a pool do not state."""
    edges = [site.edge] if site.edge else context.graph.callers(site.policy.id)
    return [
        f"{edge.service.name}.facts.pool.acquire_timeout"
        for edge in edges
        if (pool := edge.service.facts.pool) and pool.acquire_timeout is None
    ]


def _breaks(policy: Operation, attempt: float, wait: float) -> str | None:
    """The message where the waits alone break the budget."""
    retry, budget = policy.retry, policy.budget
    total = None if budget is None else budget.total
    attempts = 1 if retry is None else retry.max_attempts
    if total is None or attempts is None:
        return None
    backoff = 0.0 if retry is None else longest_waits(retry.backoff, attempts - 1)
    without = attempts * attempt + backoff
    longest = without + attempts * wait
    if over(without, total) or not over(longest, total):
        return None
    return (
        f"{show.count(attempts, 'attempt')} without waits: {show.duration(without)} of "
        f"{show.duration(total)}, but {show.duration(longest)} with waits of up to "
        f"{show.duration(wait)} each"
    )


def _longest(policy: Operation, acquire: float) -> str:
    """The key of the longest wait."""
    waits = _waits(policy, acquire)
    return max(waits, key=lambda key: waits[key])


def _waits(policy: Operation, acquire: float) -> dict[str, float]:
    """What an attempt may wait for, by the key that bounds it."""
    return {
        "bulkhead.max_wait": policy.bulkhead.max_wait if policy.bulkhead else 0.0,
        "rate_limit.max_wait": policy.rate_limit.max_wait if policy.rate_limit else 0.0,
        "attempt_timeout": acquire,
    }


def _places(policy: Operation) -> list[At]:
    found: list[At] = [("attempt_timeout.total", "one attempt")]
    if policy.budget is not None and policy.budget.total is not None:
        found.append(("budget.total", "the whole call"))
    return found
