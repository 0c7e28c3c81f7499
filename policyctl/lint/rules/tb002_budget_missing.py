"""TB002: calls without a limit for the whole."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, Site
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import worst_case


class BudgetMissing(Rule):
    """Nothing bounds the whole call.

    What:
        An operation has no `budget.total`, does not inherit one, and not all of its
        declared callers run under a budget of their own. With retries or a hedge it is
        an error, else a warning. Services of class `batch` and `control_loop`, and
        operations with `transport: local`, are not asked for one.

    Why:
        Without a budget the call lasts as long as all attempts, waits and queueing
        together, whatever its caller can still use. gRPC deadlines span all attempts,
        and Envoy's route timeout includes retries.

    Bad:
        version: 1
        service: tax_api
        owner: tax-team
        operations:
          compute:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            retry: {max_attempts: 3}

    Good:
        version: 1
        service: tax_api
        owner: tax-team
        operations:
          compute:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 8s
            retry: {max_attempts: 3}

    Fix:
        Set `budget` to the worst case that the help line works out: behaviour stays the
        same and becomes visible. Then shorten it to what the caller can wait for.

    False positives:
        Background jobs with a limit of their own: `class: batch`. Operations that only
        run inside a caller's budget: `budget: {inherit: true}`.

    References:
        gRPC proposal A6, client retries
        Envoy documentation, router filter: timeouts and retries
    """

    code: ClassVar[str] = "TB002"
    name: ClassVar[str] = "budget-missing"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        if policy.transport == "local" or site.service.service_class != "online":
            return
        if policy.budget is not None and (policy.budget.total or policy.budget.inherit):
            return
        if _callers_have_budgets(site, context):
            return
        several = policy.hedge is not None or _attempts(policy) != 1
        longest = worst_case(policy)
        lasts = "has no limit at all"
        if not math.isinf(longest):
            lasts = f"lasts up to {show.duration(longest)}"
        yield self.finding(
            site.place,
            "budget",
            f"{policy.id} has no budget: one call {lasts}{_parts(policy)}",
            severity=None if several else Severity.WARNING,
            help=_help(longest),
            fix=_fix(site, longest),
        )


def _attempts(policy: Operation) -> int | None:
    return 1 if policy.retry is None else policy.retry.max_attempts


def _parts(policy: Operation) -> str:
    attempts = _attempts(policy)
    if attempts is None:
        return " (unlimited attempts)"
    return f" ({show.count(attempts, 'attempt')} and the waits)" if attempts > 1 else ""


def _callers_have_budgets(site: Site, context: Context) -> bool:
    edges = [site.edge] if site.edge else context.graph.callers(site.policy.id)
    return bool(edges) and all(map(_has_budget, edges))


def _has_budget(edge: Edge) -> bool:
    """Whether every request that makes this call runs under a time limit."""
    inbound = edge.service.inbound
    budget = None if inbound is None else inbound.budget
    return budget is not None and budget.default is not None


def _fix(site: Site, longest: float) -> Fix | None:
    """The worst case as the budget: behaviour stays as it is."""
    if math.isinf(longest):
        return None
    text = show.ceil_duration(longest)
    return mend.set_value(site.place, "budget.total", text, safe=False)


def _help(longest: float) -> str:
    if math.isinf(longest):
        return "set attempt_timeout and budget"
    return (
        f"set budget: {show.ceil_duration(longest)}, which keeps the behaviour, or less"
    )
