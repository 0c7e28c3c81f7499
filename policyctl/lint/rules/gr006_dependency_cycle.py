"""GR006: services that wait for themselves."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Related, Severity
from policyctl.lint.context import Context
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule


class DependencyCycle(Rule):
    """Calls lead back to where they come from.

    What:
        A chain of calls reaches the operation or service that it began with. If the
        chain contains a detached call, which nobody waits for, it is a warning.

    Why:
        Retries along a cycle have no bound, services on it cannot start without each
        other, and a request that comes back needs a second slot of the pool it already
        holds one of: enough of them, and all wait for each other.

    Bad:
        version: 1
        service: orders
        owner: orders-team
        operations:
          place:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 2s
            calls: [{to: stock.reserve}]
        ---
        version: 1
        service: stock
        owner: stock-team
        operations:
          reserve:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 2s
            calls: [{to: orders.place}]

    Good:
        version: 1
        service: orders
        owner: orders-team
        operations:
          place:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 4s
            calls: [{to: stock.reserve}]
        ---
        version: 1
        service: stock
        owner: stock-team
        operations:
          reserve:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 1500ms

    Fix:
        Break the cycle at the call that can be answered from a cache or put into a queue.

    False positives:
        Calls of a service to another operation of itself are followed by operation, so
        they are reported only if that operation leads back.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
    """

    code: ClassVar[str] = "GR006"
    name: ClassVar[str] = "dependency-cycle"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_project(self, context: Context) -> Outcomes:
        for cycle in context.graph.cycles():
            calls = [edge for edge in cycle if edge.call is not None]
            own = [e for e in calls if e.service.name in context.project.reported]
            if not own:
                continue
            detached = any(edge.detached for edge in calls)
            first = own[0]
            spot = context.place_of(first)
            rest = [
                Related(edge.call.span, f"{edge.caller} calls {edge.callee}")
                for edge in calls
                if edge.call is not None and edge is not first
            ]
            yield self.finding(
                spot,
                "",
                f"calls lead back to their start: {_shown(cycle)}",
                severity=Severity.WARNING if detached else None,
                help="break the cycle at the call that a cache or a queue can answer",
                also=rest[:4],
            )


def _shown(cycle: list[Edge]) -> str:
    """The nodes of a cycle in order, with the middle of a long one left out."""
    nodes = [cycle[0].caller, *(edge.callee for edge in cycle)]
    if len(nodes) > 8:
        nodes = [*nodes[:4], f"({len(nodes) - 6} more)", *nodes[-2:]]
    return " -> ".join(nodes)
