"""GR003: work that goes on after the caller gave up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from policyctl.diagnostics import Related, Severity, Span
from policyctl.lint import show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.formulas.horizon import handler_time
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import worst_case


class InnerOutlivesOuter(Rule):
    """A call behind a callee can outlive the attempt that asked for it.

    What:
        The worst case of a call is longer than the attempt timeout of a caller of the
        service that makes it (where no call is declared, than the operation's own); or
        the worst cases of all calls of a request together are, those one after the other
        added up; and that caller does not pass its deadline on (a header in `budget.header`, the same in the callee's `inbound.budget.header`, and
        `budget.inherit` on the inner call). Calls that inherit last no longer than
        `inbound.budget.default` of the service that makes them. Where the inner call is `idempotent: false`
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
            alone = [
                found
                for edge in inner
                for found in self._check(edge, patience, context)
            ]
            yield from alone or self._together(node, inner, patience, context)

    def _together(
        self, node: str, inner: list[Edge], patience: Patience, context: Context
    ) -> Outcomes:
        """Calls that are short enough one by one, but not one after the other."""
        edges = [edge for edge in inner if patience.of(edge) is not None]
        if not edges or node in context.graph.on_cycle():
            return  # GR006 speaks of calls that lead back to their start
        if any(_inherits(edge) for edge in edges):
            outer = patience.silent
        else:
            outer = patience.least
        assert outer is not None
        longest = handler_time((_longest(e), e.per_request, _beside(e)) for e in edges)
        if all(_inherits(edge) for edge in edges):
            longest = min(longest, _given(edges[0]))
        if math.isinf(longest) or not over(longest, outer.seconds):
            return
        largest = max(edges, key=lambda e: _longest(e) * _times(e))
        assert largest.policy is not None
        yield self.finding(
            context.place_of(largest),
            "budget.total" if largest.policy.budget else "attempt_timeout.total",
            f"the calls of one request to {node} can last {show.duration(longest)} "
            f"together, but {outer.who} {show.duration(outer.seconds)} for "
            f"{outer.callee}: the rest is done for nobody",
            help="pass the deadline on: budget.header on the outer call, the same header "
            f"under inbound.budget of {largest.service.name}; or shorten the inner "
            f"budgets to {show.duration(outer.seconds)} together, or call in parallel",
            also=(Related(outer.span, "the outer call"),),
        )

    def _check(self, edge: Edge, patience: Patience, context: Context) -> Outcomes:
        policy, outer = edge.policy, patience.of(edge)
        assert policy is not None
        if outer is None:
            return
        limit, longest = outer.seconds, _longest(edge)
        if not over(longest, limit):
            return
        if math.isinf(longest):
            return  # TB001 and TB002 speak of calls without a limit
        risky = policy.idempotent is False
        yield self.finding(
            context.place_of(edge),
            "budget.total" if policy.budget else "attempt_timeout.total",
            f"{policy.id} can last {show.duration(longest)}, but {outer.who} "
            f"{show.duration(limit)} for {outer.callee}, which calls it: the rest is "
            "done for nobody",
            severity=Severity.ERROR if risky else None,
            help="pass the deadline on: budget.header on the outer call, the same header "
            f"under inbound.budget of {edge.service.name}; or shorten the inner budget to "
            f"{show.floor_duration(limit)}",
            also=(Related(outer.span, "the outer call"),),
        )


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a caller waits for one attempt of a callee."""

    who: str
    callee: str
    seconds: float
    passes_deadline: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Patience:
    """The shortest waits for a node: of all, and of those that pass no deadline."""

    least: Wait | None
    silent: Wait | None

    def of(self, edge: Edge) -> Wait | None:
        """The wait that a call of the node may outlive."""
        return self.silent if _inherits(edge) else self.least


def _inherits(edge: Edge) -> bool:
    policy = edge.policy
    return policy is not None and policy.budget is not None and policy.budget.inherit


def _given(edge: Edge) -> float:
    """The time that a request gets whose caller names none; infinite without a limit."""
    inbound = edge.service.inbound
    budget = None if inbound is None else inbound.budget
    if budget is None or budget.default is None:
        return math.inf
    return budget.default


def _longest(edge: Edge) -> float:
    """The worst case of one call, within what the request has."""
    assert edge.policy is not None
    longest = worst_case(edge.policy)
    return min(longest, _given(edge)) if _inherits(edge) else longest


def _beside(edge: Edge) -> bool:
    return edge.call is not None and edge.call.mode == "parallel"


def _times(edge: Edge) -> int:
    """How often a request makes a call, one after the other."""
    return 1 if _beside(edge) else math.ceil(edge.per_request)


def _patience(node: str, context: Context) -> Patience | None:
    """The callers of an operation, or of any operation of a service."""
    service = context.project.services[node.partition(".")[0]]
    operations = [
        operation
        for operation in service.operations.values()
        if node in (service.name, operation.id)
    ]
    waits = [wait for op in operations for wait in _waits(op, context)]
    if not waits:
        return None
    silent = [wait for wait in waits if not wait.passes_deadline]
    return Patience(_least(waits), _least(silent))


def _waits(operation: Operation, context: Context) -> Iterator[Wait]:
    """The declared calls of an operation, or, where there are none, what it declares."""
    edges = context.graph.callers(operation.id)
    for edge in edges:
        limit = None if edge.policy is None else _attempt(edge.policy)
        if limit is not None and edge.policy is not None and edge.call is not None:
            passes = _passes_deadline(edge.policy, context)
            who = f"{edge.caller} waits"
            yield Wait(who, operation.id, limit, passes, edge.call.span)
    limit = _attempt(operation)
    if not edges and limit is not None and operation.transport not in (None, "local"):
        passes = _passes_deadline(operation, context)
        yield Wait("callers wait", operation.id, limit, passes, operation.span)


def _least(waits: list[Wait]) -> Wait | None:
    return min(waits, key=lambda wait: wait.seconds, default=None)


def _attempt(policy: Operation) -> float | None:
    """The longest time that a caller waits for one attempt."""
    limits = [
        limit.total
        for limit in (policy.attempt_timeout, policy.budget)
        if limit is not None and limit.total is not None
    ]
    return min(limits, default=None)


def _passes_deadline(policy: Operation, context: Context) -> bool:
    """Whether the callee learns how much time the caller has left."""
    if policy.budget is None or policy.budget.header is None:
        return False
    inbound = context.project.services[policy.service].inbound
    budget = None if inbound is None else inbound.budget
    if budget is None or budget.header is None:
        return False
    return budget.header.name.lower() == policy.budget.header.name.lower()
