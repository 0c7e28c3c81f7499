"""CB009: one circuit for many shards."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import show
from policyctl.lint.compare import reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.breaker import shard_failure_ratio
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import CircuitBreaker


class BreakerScopeTooCoarse(Rule):
    """One circuit covers all shards of a sharded callee.

    What:
        The callee states `facts.shards` over 1 and the breaker does not keep a circuit
        for each of them (`scope: argument:NAME`). One dead shard of k fails 1/k of all
        calls: if that reaches `failure_ratio`, the circuit opens for all shards (an
        error); if it does not, the breaker never helps (a warning). Counting failures
        in a row, it opens by chance (a warning).

    Why:
        An open circuit turns the loss of one shard into the loss of all. A circuit that
        cannot see a shard's death leaves its callers to their timeouts.

    Bad:
        version: 1
        service: cart_store
        owner: cart-team
        facts: {shards: 3}
        operations:
          get_cart:
            transport: redis
            idempotent: true
            attempt_timeout: 200ms
            budget: 1s
            circuit_breaker: {failure_ratio: 30%}

    Good:
        version: 1
        service: cart_store
        owner: cart-team
        facts: {shards: 3}
        operations:
          get_cart:
            transport: redis
            idempotent: true
            attempt_timeout: 200ms
            budget: 1s
            circuit_breaker: {failure_ratio: 30%, scope: "argument:shard"}

    Fix:
        Key the breaker by the argument that chooses the shard. Where the client hides
        shards, a retry budget bounds the damage instead.

    False positives:
        Shards that fail together: do not state them.

    References:
        Marc Brooker, Will circuit breakers solve my problems, 2022
        DoorDash Engineering, Failure Mitigation for Microservices
    """

    code: ClassVar[str] = "CB009"
    name: ClassVar[str] = "breaker-scope-too-coarse"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = ("callee's facts.shards",)

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker = site.policy.circuit_breaker
        shards = context.project.services[site.policy.service].facts.shards
        if breaker is None or breaker.mode == "disabled" or not shards or shards < 2:
            return
        if breaker.scope.startswith("argument:"):
            return
        message, severity = _judge(breaker, shards)
        yield self.finding(
            site.place,
            "circuit_breaker.scope",
            message,
            severity=severity,
            help='set scope: "argument:NAME" with the argument that chooses the shard, or '
            "bound retries with a retry budget instead",
        )


def _judge(breaker: CircuitBreaker, shards: int) -> tuple[str, Severity]:
    lost = shard_failure_ratio(shards)
    dead = f"one dead shard of {shards} fails {show.ratio(lost)} of all calls"
    if breaker.failure_ratio is not None:
        limit = show.ratio(breaker.failure_ratio)
        if reaches(lost, breaker.failure_ratio):
            text = f"{dead}, which reaches {limit}: the circuit opens for all shards"
            return text, Severity.ERROR
        if breaker.failure_threshold is None:
            text = f"{dead}, below {limit}: the circuit never opens for it"
            return text, Severity.WARNING
    if breaker.failure_threshold is not None:
        calls = _calls_until_run(lost, breaker.failure_threshold)
        if calls > 1e9:
            text = f"{dead}, and {breaker.failure_threshold} in a row practically never come"
            return f"{text}: the circuit never opens for it", Severity.WARNING
        text = (
            f"{dead}: {breaker.failure_threshold} in a row come about once in "
            f"{show.number(calls)} calls and open the circuit for all shards"
        )
        return text, Severity.WARNING
    return f"{dead}, and one circuit judges them all", Severity.WARNING


def _calls_until_run(failure: float, length: int) -> float:
    """The mean number of calls until ``length`` failures in a row:
    ``(p^-k - 1) / (1 - p)`` (Feller, An Introduction to Probability Theory, XIII.7)."""
    if -length * math.log(failure) > 700:
        return math.inf
    return float((failure**-length - 1) / (1 - failure))
