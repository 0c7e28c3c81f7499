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
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import worst_case


class InnerOutlivesOuter(Rule):
    """A call behind a callee can outlive the attempt that asked for it.

    What:
        The worst case of a call is longer than the attempt timeout of a caller of the
        service that makes it (where no call is declared, than the operation's own), and
        that caller does not pass its deadline on (a header in `budget.header`, the same in the callee's `inbound.budget.header`, and
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
        if outer is None:
            return
        limit, longest = outer.seconds, worst_case(policy)
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
