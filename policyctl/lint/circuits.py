"""What one circuit breaker sees: of one process, of a whole service, or of a fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policyctl.lint.context import Context, Site
from policyctl.lint.graph import Edge
from policyctl.lint.traffic import Load
from policyctl.resolve.policy import CircuitBreaker, Operation, Recovery


@dataclass(frozen=True, slots=True)
class Seen:
    """First tries per second that one circuit counts.

    Attributes:
        rate: of all operations and processes that share it; None where it is unknown.
            With a circuit for each value of an argument, that of all values together.
        circuits: how many such circuits the fleet has; None where it is unknown.
        missing: dotted paths of facts that would fill what is None.
        whose: ``each`` process, or ``all`` processes that share the circuit.
    """

    rate: float | None
    circuits: int | None
    missing: tuple[str, ...]
    whose: str


def seen_by(site: Site, breaker: CircuitBreaker, context: Context) -> Seen:
    """What one circuit of an operation, or of a caller's override of it, counts.

    ``scope: service`` adds up what the circuit's operations get, and ``store: redis``
    what all processes send.
    """
    shared = breaker.store == "redis"
    if breaker.scope != "service":
        return _together([context.load(site)], shared)
    if site.edge is not None:
        return _of_service(site.edge, shared, context)
    return _remembered(
        f"circuit {site.service.name} {shared}",
        lambda: [
            context.traffic.of_operation(operation)
            for operation in site.service.operations.values()
            if _shares(operation)
        ],
        shared,
        context,
    )


def seen_from(edge: Edge, policy: Operation, context: Context) -> Seen:
    """What one circuit in the caller's processes counts of the caller's own calls."""
    breaker = policy.circuit_breaker
    shared = breaker is not None and breaker.store == "redis"
    if _shares(policy):
        return _of_service(edge, shared, context)
    return _together([context.traffic.of_edge(edge)], shared)


def grows(recovery: Recovery) -> bool:
    """Whether a break gets longer from one opening to the next."""
    room = recovery.max is None or recovery.max > recovery.initial
    return recovery.multiplier > 1 and room


def _of_service(edge: Edge, shared: bool, context: Context) -> Seen:
    """What a circuit for all calls of one service to another counts."""
    callee = edge.callee.partition(".")[0]
    return _remembered(
        f"circuit {edge.service.name} {callee} {shared}",
        lambda: [context.traffic.of_edge(e) for e in _siblings(edge, context)],
        shared,
        context,
    )


def _remembered(
    key: str, loads: Callable[[], list[Load]], shared: bool, context: Context
) -> Seen:
    """The sum of ``loads``, worked out once for all operations of a service."""
    found: Seen | None = context.memory.get(key)
    if found is None:
        found = context.memory[key] = _together(loads(), shared)
    return found


def _shares(policy: Operation) -> bool:
    breaker = policy.circuit_breaker
    return breaker is not None and breaker.scope == "service"


def _siblings(edge: Edge, context: Context) -> list[Edge]:
    """All calls that the caller's service makes to the callee's service."""
    nodes = [edge.service.name, *(op.id for op in edge.service.operations.values())]
    callee = edge.callee.partition(".")[0]
    return [
        other
        for node in nodes
        for other in context.graph.outgoing.get(node, ())
        if other.callee.partition(".")[0] == callee
        and other.policy is not None
        and _shares(other.policy)
    ]


def _together(loads: Sequence[Load], shared: bool) -> Seen:
    absent = dict.fromkeys(fact for load in loads for fact in load.missing)
    if shared:
        absent = dict.fromkeys(fact for load in loads for fact in load.missing_rate)
    rates = [load.rate if shared else load.per_client for load in loads]
    known = [rate for rate in rates if rate is not None]
    whose = "all" if shared else "each"
    callers = [load.callers for load in loads if load.callers is not None]
    circuits = 1 if shared else max(callers, default=None)
    if len(known) < len(rates):
        return Seen(None, circuits, tuple(absent), whose)
    return Seen(sum(known), circuits, (), whose)
