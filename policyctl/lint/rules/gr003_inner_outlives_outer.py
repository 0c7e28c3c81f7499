"""GR003: work that goes on after the caller gave up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from policyctl.diagnostics import Related, Severity
from policyctl.lint import show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.worst_case import worst_case


class InnerOutlivesOuter(Rule):
    """A call behind a callee can outlive the attempt that asked for it.

    What:
        The worst case of a call is longer than the attempt timeout of a caller of the
        service that makes it, and that caller does not pass its deadline on (a header in
        `budget.header`, the same in the callee's `inbound.budget.header`, and
        `budget.inherit` on the inner call). Where the inner call is `idempotent: false`
        it is an error, since its effect comes after the caller was told of a failure.

    Why:
        The caller gives up and tries again, while the first request still works through
        its own calls: useless work, doubled.

    Bad:
        version: 1
        service: web
        owner: web-team
        calls: [{to: api.load}]
        ---
        version: 1
        service: api
        owner: api-team
        operations:
          load:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 4s
            calls: [{to: store.read}]
        ---
        version: 1
        service: store
        owner: store-team
        operations:
          read:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: 6s

    Good:
        version: 1
        service: web
        owner: web-team
        calls: [{to: api.load}]
        ---
        version: 1
        service: api
        owner: api-team
        inbound:
          budget: {default: 1s, header: {name: X-Budget, unit: s}}
          bulkhead: {max_concurrent: 20}
        operations:
          load:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: {total: 4s, header: {name: X-Budget, unit: s}}
            calls: [{to: store.read}]
        ---
        version: 1
        service: store
        owner: store-team
        operations:
          read:
            transport: http
            idempotent: true
            attempt_timeout: 2s
            budget: {total: 6s, inherit: true}

    Fix:
        Pass the deadline on, or make the inner budget shorter than the outer attempt.

    False positives:
        Work that goes on after the answer: mark the call `mode: detached`.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures: deadlines
        Istio documentation, fault injection task
    """

    code: ClassVar[str] = "GR003"
    name: ClassVar[str] = "inner-outlives-outer"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_project(self, context: Context) -> Outcomes:
        for node, outgoing in context.graph.outgoing.items():
            inner = [e for e in outgoing if e.call is not None and not e.detached]
            patience = _patience(node, context) if inner else None
            if patience is None:
                continue
            for edge in inner:
                yield from self._check(edge, patience, context)

    def _check(self, edge: Edge, patience: Patience, context: Context) -> Outcomes:
        policy = edge.policy
        assert policy is not None
        inherits = policy.budget is not None and policy.budget.inherit
        outer = patience.silent if inherits else patience.least
        if outer is None or outer.call is None:
            return
        limit, longest = _attempt(outer), worst_case(policy)
        if limit is None or not over(longest, limit):
            return
        if math.isinf(longest):
            return  # TB001 and TB002 speak of calls without a limit
        risky = policy.idempotent is False
        yield self.finding(
            context.place_of(edge),
            "budget.total" if policy.budget else "attempt_timeout.total",
            f"{policy.id} can last {show.duration(longest)}, but {outer.caller} waits "
            f"{show.duration(limit)} for {outer.callee}, which calls it: the rest is "
            "done for nobody",
            severity=Severity.ERROR if risky else None,
            help="pass the deadline on: budget.header on the outer call, the same header "
            f"under inbound.budget of {edge.service.name}; or shorten the inner budget to "
            f"{show.floor_duration(limit)}",
            also=(Related(outer.call.span, "the outer call"),),
        )


@dataclass(frozen=True, slots=True)
class Patience:
    """The least patient calls into a node: of all, and of those that pass no deadline."""

    least: Edge | None
    silent: Edge | None


def _patience(node: str, context: Context) -> Patience | None:
    """The callers of an operation, or of any operation of a service."""
    service = context.project.services[node.partition(".")[0]]
    operations = (
        [node] if "." in node else [op.id for op in service.operations.values()]
    )
    callers = [edge for name in operations for edge in context.graph.callers(name)]
    timed = [edge for edge in callers if _attempt(edge) is not None]
    if not timed:
        return None
    silent = [edge for edge in timed if not _passes_deadline(edge, context)]
    return Patience(_least(timed), _least(silent))


def _least(edges: list[Edge]) -> Edge | None:
    return min(edges, key=lambda edge: _attempt(edge) or math.inf, default=None)


def _attempt(edge: Edge) -> float | None:
    """The longest time that a caller waits for one attempt."""
    policy = edge.policy
    if policy is None:
        return None
    limits = [
        limit.total
        for limit in (policy.attempt_timeout, policy.budget)
        if limit is not None and limit.total is not None
    ]
    return min(limits, default=None)


def _passes_deadline(edge: Edge, context: Context) -> bool:
    """Whether the callee learns how much time the caller has left."""
    policy = edge.policy
    if policy is None or policy.budget is None or policy.budget.header is None:
        return False
    inbound = context.project.services[policy.service].inbound
    budget = None if inbound is None else inbound.budget
    if budget is None or budget.header is None:
        return False
    return budget.header.name.lower() == policy.budget.header.name.lower()
