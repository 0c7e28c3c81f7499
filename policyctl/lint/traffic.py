"""How often and by how many an operation is called, as far as facts say.

Nothing is guessed: where a fact is missing the answer is None, and ``missing`` names
the facts that would give it.
"""

from __future__ import annotations

from dataclasses import dataclass

from policyctl.lint.graph import CallGraph, Edge
from policyctl.resolve.policy import Operation, Project


@dataclass(frozen=True, slots=True)
class Load:
    """The traffic under one policy.

    Attributes:
        rate: first tries per second of all clients together (lam).
        callers: client processes (N).
        missing: dotted paths of facts that would fill what is None.
    """

    rate: float | None
    callers: int | None
    missing: tuple[str, ...] = ()

    @property
    def missing_callers(self) -> tuple[str, ...]:
        """The facts that would give the number of callers."""
        return tuple(fact for fact in self.missing if not fact.endswith(".rate"))

    @property
    def missing_rate(self) -> tuple[str, ...]:
        """The facts that would give the rate."""
        return tuple(fact for fact in self.missing if fact.endswith(".rate"))

    @property
    def per_client(self) -> float | None:
        """First tries per second of one client process (lam_i)."""
        if self.rate is None or not self.callers:
            return None
        return self.rate / self.callers


class Traffic:
    """Rates and callers of a project, derived along the call graph once."""

    def __init__(self, project: Project, graph: CallGraph) -> None:
        self._project = project
        self._graph = graph
        self._rates = _derive_rates(project, graph)
        self._least = _least_rates(project, graph)
        self._loads: dict[str, Load] = {}

    def rate(self, node: str) -> float | None:
        """Requests per second that reach an operation, or that a service handles."""
        return self._rates.get(node)

    def at_least(self, operation: str) -> float:
        """A lower bound of the rate, from the callers that are known; 0 without any.

        Calls inside a cycle are left out. It serves to prove that a load is too high.
        """
        return self._least.get(operation, 0.0)

    def callers(self, operation: Operation) -> int | None:
        """Client processes: as stated, or the instances of all calling services."""
        if operation.facts.callers is not None:
            return operation.facts.callers
        services = {
            e.service.name: e.service for e in self._graph.callers(operation.id)
        }
        counts = [service.facts.instances for service in services.values()]
        known = [number for number in counts if number is not None]
        return sum(known) if known and len(known) == len(counts) else None

    def of_operation(self, operation: Operation) -> Load:
        """The load of an operation over all of its callers."""
        found = self._loads.get(operation.id)
        if found is None:
            found = self._loads[operation.id] = self._of_operation(operation)
        return found

    def _of_operation(self, operation: Operation) -> Load:
        rate, callers = self.rate(operation.id), self.callers(operation)
        missing = [] if rate is not None else [f"{operation.path}.facts.rate"]
        if callers is None:
            missing.append(f"{operation.path}.facts.callers")
        return Load(rate, callers, tuple(missing))

    def of_edge(self, edge: Edge) -> Load:
        """The load that one call of the graph carries, over all caller processes.

        Where the caller's own rate is unknown, the callee's stated rate serves if this
        is its only caller.
        """
        rate = self.rate(edge.caller)
        rate = None if rate is None else rate * edge.per_request
        callee = self._project.find_operation(edge.callee)
        instances = edge.service.facts.instances
        alone = callee is not None and len(self._graph.callers(edge.callee)) == 1
        if callee is not None and alone:
            stated = callee.facts.callers
            if instances is None:
                instances = stated
            if rate is None and stated in (None, instances):
                rate = callee.facts.rate
        missing: list[str] = []
        if rate is None and callee is not None:
            missing.append(f"{_caller_path(self._project, edge)}.facts.rate")
        if instances is None:
            missing.append(f"{edge.service.name}.facts.instances")
        return Load(rate, instances, tuple(missing))


def _caller_path(project: Project, edge: Edge) -> str:
    """The policy path of the operation whose rate decides an edge's rate."""
    caller = project.find_operation(edge.caller)
    if caller is None:
        caller = project.find_operation(edge.callee)
    return edge.caller if caller is None else caller.path


def _derive_rates(project: Project, graph: CallGraph) -> dict[str, float]:
    """Stated rates, and sums of the callers' rates where none is stated."""
    rates: dict[str, float] = {}
    looping = graph.on_cycle()
    for node in graph.callers_first():
        operation = project.find_operation(node)
        if operation is not None and operation.facts.rate is not None:
            rates[node] = operation.facts.rate
            continue
        edges = graph.incoming.get(node, [])
        if not edges or node in looping:
            continue
        flows = [
            rates[edge.caller] * edge.per_request
            for edge in edges
            if edge.caller in rates
        ]
        if len(flows) == len(edges):
            rates[node] = sum(flows)
    return rates


def _least_rates(project: Project, graph: CallGraph) -> dict[str, float]:
    """Stated rates, and what the callers that are known add up to elsewhere."""
    rates: dict[str, float] = {}
    looping = graph.on_cycle()
    for node in graph.callers_first():
        operation = project.find_operation(node)
        if operation is not None and operation.facts.rate is not None:
            rates[node] = operation.facts.rate
            continue
        rates[node] = sum(
            rates[edge.caller] * edge.per_request
            for edge in graph.incoming.get(node, ())
            if edge.caller in rates and not (node in looping and edge.caller in looping)
        )
    return rates
