"""CB011: slow-call rules that never fire."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation


class SlowCallRuleIsDead(Rule):
    """The slow-call rule can never open the circuit.

    What:
        `slow_call.after` is at least `attempt_timeout`, so that such calls end as
        timeouts; or `slow_call.ratio` is 100 %, which one quick call defeats.

    Why:
        The defaults of one popular library, 60 s and 100 %, never fire under an ordinary
        timeout; the rule looks like protection and is none.

    Bad:
        version: 1
        service: order_api
        owner: order-team
        operations:
          get_order:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 5s
            circuit_breaker: {slow_call: {after: 60s, ratio: 50%}}

    Good:
        version: 1
        service: order_api
        owner: order-team
        operations:
          get_order:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 5s
            circuit_breaker: {slow_call: {after: 1s, ratio: 50%}}

    Fix:
        Set `after` to the larger of the p99 and half of `attempt_timeout`, `ratio` to
        50 %.

    False positives:
        Streams and other calls whose timeout does not bound them.

    References:
        resilience4j documentation, CircuitBreaker: slowCallDurationThreshold
    """

    code: ClassVar[str] = "CB011"
    name: ClassVar[str] = "slow-call-rule-is-dead"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker, timeout = site.policy.circuit_breaker, site.policy.attempt_timeout
        if breaker is None or breaker.slow_call is None or breaker.mode == "disabled":
            return
        slow = breaker.slow_call
        total = None if timeout is None else timeout.total
        if total is not None and slow.after >= total:
            yield self.finding(
                site.place,
                "circuit_breaker.slow_call.after",
                f"slow_call.after {show.duration(slow.after)} >= attempt_timeout "
                f"{show.duration(total)}: such calls end as timeouts before they are slow",
                help=f"set after: {_suggested(site.policy, total)}",
                fix=mend.set_value(
                    site.place,
                    "circuit_breaker.slow_call.after",
                    _suggested(site.policy, total),
                    safe=False,
                ),
                also=(("attempt_timeout.total", "one attempt"),),
            )
        elif slow.ratio >= 1:
            yield self.finding(
                site.place,
                "circuit_breaker.slow_call.ratio",
                "slow_call.ratio 100%: one quick call in the window keeps the circuit "
                "closed",
                help="set ratio: 50%",
                fix=mend.set_value(
                    site.place, "circuit_breaker.slow_call.ratio", "50%", safe=False
                ),
            )


def _suggested(policy: Operation, total: float) -> str:
    """The larger of the p99 and half of the timeout, below the timeout."""
    latency = policy.facts.latency
    p99 = 0.0 if latency is None or latency.p99 is None else latency.p99
    return show.duration(total / 2 if p99 >= total else max(p99, total / 2))
