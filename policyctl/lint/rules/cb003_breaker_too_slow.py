"""CB003: circuits that open when the caller's workers are gone."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import show
from policyctl.lint.amplify import attempts_of
from policyctl.lint.circuits import seen_from
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context
from policyctl.lint.formulas.breaker import detection_time, failures_needed
from policyctl.lint.formulas.concurrency import in_flight
from policyctl.lint.graph import Edge
from policyctl.lint.hanging import sharing
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import CircuitBreaker, Operation
from policyctl.resolve.worst_case import worst_case


class BreakerTooSlow(Rule):
    """The circuit opens too late to save the caller.

    What:
        When the callee hangs, the breaker needs one attempt timeout and the failures
        that trip it, each call failing up to n times: `T = t + k / (n lam_i)`. No
        bulkhead holds back some of the caller's workers, calls last long enough to bind
        all of them, and that happens sooner (`workers / lam_i`); or T is longer than the
        caller's `facts.objective`. The fewest failures that can open it are counted: of
        `minimum_calls`, the share that the ratio asks for.

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
        load, seen = context.traffic.of_edge(edge), seen_from(edge, policy, context)
        rate = load.per_client
        if rate is None or seen.rate is None:
            yield from missing(dict.fromkeys([*load.missing, *seen.missing]))
            return
        needed = failures_to_trip(breaker, timeout.total)
        if needed is None or rate <= 0:
            return
        slow = _Slow(policy, timeout.total, needed, seen.rate)
        lasting = math.inf
        if workers is not None and not guarded:
            taken = rate / sharing(edge)
            binding = reaches(in_flight(taken, worst_case(policy)), workers)
            lasting = workers / taken if binding else math.inf
        if over(slow.detected, lasting):
            none = "no worker" if workers == 1 else f"none of its {workers} workers"
            end = f", but {edge.service.name} has {none} left after {show.duration(lasting)}"
        elif objective is not None and over(slow.detected, objective):
            end = f", over the objective {show.duration(objective)} of {edge.service.name}"
        else:
            if workers is None and not guarded:
                yield from missing([f"{edge.service.name}.facts.workers"])
            return
        yield self.finding(
            context.place_of(edge),
            "attempt_timeout.total",
            slow.text + end,
            help="shorten attempt_timeout, add a bulkhead smaller than the workers, or "
            "open on fewer calls",
        )


class _Slow:
    """How long a circuit takes to open when the callee hangs: seconds, and in words."""

    __slots__ = ("detected", "text")

    def __init__(
        self, policy: Operation, attempt: float, needed: int, rate: float
    ) -> None:
        failing = rate * _attempts(policy)
        endless = math.isinf(failing)
        self.detected = attempt if endless else detection_time(attempt, needed, failing)
        self.text = (
            f"{policy.id} hangs for {show.duration(attempt)} and "
            f"{show.count(needed, 'failure')} at {_up_to(failing, rate)} before "
            f"its circuit can open: {show.duration(self.detected)}"
        )


def _attempts(policy: Operation) -> float:
    """The most attempts of one call that can fail while the callee hangs."""
    if policy.hedge is not None:
        return 1.0 + policy.hedge.max_hedges
    return attempts_of(policy)


def _up_to(failing: float, rate: float) -> str:
    if math.isinf(failing):
        return "any rate"
    return f"up to {show.rate(failing)}" if failing > rate else show.rate(rate)


def _is_guarded(policy: Operation, workers: int | None) -> bool:
    """Whether a bulkhead keeps some of the caller's workers free."""
    bulkhead = policy.bulkhead
    if bulkhead is None or bulkhead.mode != "enforce":
        return False
    return workers is None or bulkhead.max_concurrent < workers


def failures_to_trip(breaker: CircuitBreaker, attempt: float) -> int | None:
    """The fewest attempts that must fail before the circuit can open.

    A ratio needs its share of ``minimum_calls``, if the others were successes before the
    hang. ``attempt`` is how long a hanging attempt lasts: it is a slow call if that is
    over ``slow_call.after``.
    """
    ratios = [breaker.failure_ratio]
    if breaker.slow_call is not None and breaker.slow_call.after < attempt:
        ratios.append(breaker.slow_call.ratio)
    ways = [
        max(1, failures_needed(breaker.minimum_calls, ratio))
        for ratio in ratios
        if ratio is not None
    ]
    if breaker.failure_threshold is not None:
        ways.append(breaker.failure_threshold)
    return min(ways, default=None)
