"""CB003: circuits that open when the caller's workers are gone."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.formulas.breaker import detection_time
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import CircuitBreaker, Operation


class BreakerTooSlow(Rule):
    """The circuit opens too late to save the caller.

    What:
        When the callee hangs, the breaker needs one attempt timeout and the failures
        that trip it: `T = t + k / lam_i`. That is longer than the caller's workers last
        (`workers / lam_i`) where no bulkhead holds back some of them; or longer than the
        caller's `facts.objective`.

    Why:
        A breaker counts ended attempts. While they hang, every worker joins them; once
        all are gone, the breaker has nothing left to protect. The timeout is the real
        limit.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100}
        operations:
          page:
            transport: local
            facts: {rate: 50/s}
            calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            attempt_timeout: 10s
            budget: 20s
            circuit_breaker: {failure_threshold: 5}

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 100}
        operations:
          page:
            transport: local
            facts: {rate: 50/s}
            calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker: {failure_threshold: 5}

    Fix:
        Shorten `attempt_timeout`, add a bulkhead, or open on fewer calls.

    False positives:
        Callers whose waiting requests hold no worker: do not state `facts.workers`.

    References:
        Shopify Engineering, Your Circuit Breaker is Misconfigured
    """

    code: ClassVar[str] = "CB003"
    name: ClassVar[str] = "breaker-too-slow"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "caller's facts.workers, facts.instances and facts.objective",
        "operation facts.rate",
    )

    def check_edge(self, edge: Edge, context: Context) -> Outcomes:
        policy = edge.policy
        if policy is None or policy.circuit_breaker is None or edge.detached:
            return
        breaker, timeout = policy.circuit_breaker, policy.attempt_timeout
        if timeout is None or timeout.total is None or breaker.mode != "enforce":
            return
        workers, objective = edge.service.facts.workers, edge.service.facts.objective
        guarded = _is_guarded(policy, workers)
        if (guarded or workers is None) and objective is None:
            if not guarded:
                yield from missing([f"{edge.service.name}.facts.workers"])
            return
        load = context.traffic.of_edge(edge)
        rate = load.per_client
        if rate is None:
            yield from missing(load.missing)
            return
        needed = failures_to_trip(breaker)
        if needed is None or rate <= 0:
            return
        detected = detection_time(timeout.total, needed, rate)
        sum_ = (
            f"{policy.id} hangs for {show.duration(timeout.total)} and {needed} calls at "
            f"{show.rate(rate)} until its circuit opens: {show.duration(detected)}"
        )
        if not guarded and workers is not None and over(detected, workers / rate):
            message = (
                f"{sum_}, but the {workers} workers of {edge.service.name} are gone after "
                f"{show.duration(workers / rate)}"
            )
        elif objective is not None and over(detected, objective):
            message = (
                f"{sum_}, over the objective {show.duration(objective)} of "
                f"{edge.service.name}"
            )
        else:
            return
        yield self.finding(
            context.place_of(edge),
            "attempt_timeout.total",
            message,
            help="shorten attempt_timeout, add a bulkhead smaller than the workers, or "
            "open on fewer calls",
        )


def _is_guarded(policy: Operation, workers: int | None) -> bool:
    """Whether a bulkhead keeps some of the caller's workers free."""
    bulkhead = policy.bulkhead
    if bulkhead is None or bulkhead.mode != "enforce":
        return False
    return workers is None or bulkhead.max_concurrent < workers


def failures_to_trip(breaker: CircuitBreaker) -> int | None:
    """Calls that must fail in a total failure before the circuit opens."""
    ways: list[int] = []
    if breaker.failure_threshold is not None:
        ways.append(breaker.failure_threshold)
    if breaker.failure_ratio is not None:
        ways.append(max(1, breaker.minimum_calls))
    return min(ways, default=None)
