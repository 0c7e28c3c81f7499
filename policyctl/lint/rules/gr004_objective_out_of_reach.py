"""GR004: promises that the calls behind a service do not leave room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import ClassVar

from policyctl.diagnostics import Related, Severity
from policyctl.lint import place, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.formulas.horizon import handler_time
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service
from policyctl.resolve.worst_case import worst_case


class ObjectiveOutOfReach(Rule):
    """The calls of a service can last longer than it promises to answer.

    What:
        The worst case of all calls that a request makes, sequential ones added up and
        the longest of the parallel ones, is over `facts.objective`; or the p99
        latencies of these calls, which is an upper bound of their joint p99, are.

    Why:
        A promise of 3 s over three calls of up to 2 s each is kept only while nothing
        goes wrong.

    Bad:
        version: 1
        service: page
        owner: page-team
        facts: {objective: 3s}
        calls: [{to: api.load}, {to: api.count}]
        ---
        version: 1
        service: api
        owner: api-team
        defaults: {transport: http, idempotent: true, attempt_timeout: 2s, budget: 2s}
        operations: {load: {}, count: {}}

    Good:
        version: 1
        service: page
        owner: page-team
        facts: {objective: 3s}
        calls: [{to: api.load}, {to: api.count}]
        ---
        version: 1
        service: api
        owner: api-team
        defaults: {transport: http, idempotent: true, attempt_timeout: 1s, budget: 1s}
        operations: {load: {}, count: {}}

    Fix:
        Shorten the largest budgets, call in parallel, or give the request one budget
        that all calls inherit.

    False positives:
        Sums of p99 latencies overstate the joint p99.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
    """

    code: ClassVar[str] = "GR004"
    name: ClassVar[str] = "objective-out-of-reach"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "facts.objective",
        "operation facts.latency.p99",
    )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        objective = service.facts.objective
        if objective is not None and _bounded_by_inbound(service, objective):
            return
        for node in (service.name, *(op.id for op in service.operations.values())):
            edges = _calls(node, service, context)
            if edges and objective is None:
                yield from missing([f"{service.name}.facts.objective"])
                return
            if objective is None:
                continue
            if edges and not _bounded_by_itself(node, service, edges, objective):
                yield from self._judge(service, node, edges, objective)

    def _judge(
        self, service: Service, node: str, edges: list[Edge], objective: float
    ) -> Outcomes:
        longest = handler_time((_worst(e), e.per_request, _beside(e)) for e in edges)
        healthy = handler_time((_p99(e), e.per_request, _beside(e)) for e in edges)
        promised = show.duration(objective)
        part = _worst
        if over(longest, objective) and not math.isinf(longest):
            what = f"the calls of one request can last {show.duration(longest)}"
        elif over(healthy, objective):
            part = _p99
            what = f"the p99 latencies of its calls add up to {show.duration(healthy)}"
        else:
            if math.isinf(longest):
                yield from missing(_without_p99(edges))
            return
        largest = max(edges, key=lambda e: part(e) * _times(e))
        assert largest.call is not None
        path = service.operations[node.partition(".")[2]].path if "." in node else None
        spot = place.of_service(service)
        yield self.finding(
            spot,
            "facts.objective",
            f"{what} > objective {promised} of {node}; the largest part is "
            f"{largest.callee} with up to {_share(largest, part)}",
            help="shorten the largest budgets, call in parallel, or set "
            f"inbound.budget: {{default: {promised}}}, which all calls inherit"
            + ("" if path is None else f" ({path})"),
            also=(Related(largest.call.span, "the largest part"),),
        )


def _calls(node: str, service: Service, context: Context) -> list[Edge]:
    """The calls that a request makes: of its operation and of the service as a whole."""
    names = [node] if node == service.name else [node, service.name]
    own = context.graph.outgoing.get(node, ())
    if node != service.name and not any(edge.call for edge in own):
        return []
    return [
        edge
        for name in names
        for edge in context.graph.outgoing.get(name, ())
        if edge.call is not None and not edge.detached
    ]


def _worst(edge: Edge) -> float:
    return math.inf if edge.policy is None else worst_case(edge.policy)


def _p99(edge: Edge) -> float:
    latency = None if edge.policy is None else edge.policy.facts.latency
    return 0.0 if latency is None or latency.p99 is None else latency.p99


def _without_p99(edges: list[Edge]) -> Iterator[str]:
    for edge in edges:
        if edge.policy is not None and _p99(edge) == 0:
            yield f"{edge.policy.path}.facts.latency.p99"


def _beside(edge: Edge) -> bool:
    return edge.call is not None and edge.call.mode == "parallel"


def _bounded_by_inbound(service: Service, objective: float) -> bool:
    """Whether every request runs under a budget no longer than the objective."""
    budget = None if service.inbound is None else service.inbound.budget
    return (
        budget is not None
        and budget.default is not None
        and budget.default <= objective
    )


def _times(edge: Edge) -> int:
    """How often a call is made one after the other for a request."""
    return 1 if _beside(edge) else math.ceil(edge.per_request)


def _share(edge: Edge, part: Callable[[Edge], float]) -> str:
    """``2s``, or ``10 x 1m`` where a request makes the call ten times."""
    times, longest = _times(edge), show.duration(part(edge))
    return longest if times == 1 else f"{times} x {longest}"


def _bounded_by_itself(
    node: str, service: Service, edges: list[Edge], objective: float
) -> bool:
    """Whether a local operation's own budget, which its calls inherit, is short enough."""
    operation = service.operations.get(node.partition(".")[2])
    if operation is None or operation.transport != "local" or operation.budget is None:
        return False
    total = operation.budget.total
    if total is None or total > objective:
        return False
    budgets = [None if edge.policy is None else edge.policy.budget for edge in edges]
    return all(budget is not None and budget.inherit for budget in budgets)
