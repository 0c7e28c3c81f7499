"""The call graph of a project: who calls what, under which policy.

Nodes are operations (``service.operation``) and services (``service``). A service's node
stands for the requests that it handles: its own ``calls`` leave from there, and every
operation of it that has callers leads into it by a step without a policy. All walks
are iterative and linear in nodes + edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policyctl.resolve.policy import Call, Operation, Project, Service


@dataclass(frozen=True, slots=True)
class Edge:
    """One call of the graph.

    Attributes:
        caller: the node it leaves from, an operation or a service.
        service: the service that makes the call.
        call: the declaration; None for the step from an operation into its service.
        callee: the node it leads to.
        policy: the settings in force: the edge's override or the callee's operation.
    """

    caller: str
    service: Service
    callee: str
    call: Call | None = None
    policy: Operation | None = None

    @property
    def per_request(self) -> float:
        """Calls for each request that the caller handles."""
        return 1.0 if self.call is None else self.call.per_request

    @property
    def detached(self) -> bool:
        """Whether the caller does not wait for it."""
        return self.call is not None and self.call.mode == "detached"


@dataclass(slots=True)
class CallGraph:
    """Nodes with their edges; build with :func:`build`."""

    outgoing: dict[str, list[Edge]] = field(default_factory=dict[str, list[Edge]])
    incoming: dict[str, list[Edge]] = field(default_factory=dict[str, list[Edge]])
    _components: list[list[str]] | None = None
    _looping: set[str] | None = None
    _callers: dict[str, list[Edge]] = field(default_factory=dict[str, list[Edge]])

    def callers(self, operation: str) -> list[Edge]:
        """The declared calls to an operation, in the order of the files."""
        found = self._callers.get(operation)
        if found is None:
            edges = self.incoming.get(operation, ())
            found = [edge for edge in edges if edge.call is not None]
            self._callers[operation] = found
        return found

    def edges(self) -> Iterator[Edge]:
        """Every declared call, in the order of the files."""
        for edges in self.outgoing.values():
            yield from (edge for edge in edges if edge.call is not None)

    def components(self) -> list[list[str]]:
        """Strongly connected components, callees before callers (Tarjan 1972)."""
        if self._components is None:
            self._components = list(_components(self.outgoing))
        return self._components

    def callers_first(self) -> list[str]:
        """Nodes so that, cycles apart, each comes after all of its callers."""
        return [node for part in reversed(self.components()) for node in part]

    def on_cycle(self) -> set[str]:
        """Every node that can reach itself."""
        if self._looping is not None:
            return self._looping
        found: set[str] = set()
        for part in self.components():
            if len(part) > 1 or any(
                e.callee == part[0] for e in self.outgoing[part[0]]
            ):
                found.update(part)
        self._looping = found
        return found

    def cycles(self) -> list[list[Edge]]:
        """One shortest cycle of each component that has one, as a list of edges."""
        looping = self.on_cycle()
        parts = [set(part) for part in self.components() if part[0] in looping]
        order = {node: index for index, node in enumerate(self.outgoing)}
        found = [_shortest_cycle(self.outgoing, part, order) for part in parts]
        return sorted(found, key=lambda cycle: order[cycle[0].caller])


def build(project: Project) -> CallGraph:
    """Return the call graph; calls to operations that do not exist are left out."""
    graph = CallGraph()
    for service in project.services.values():
        graph.outgoing[service.name] = []
        for operation in service.operations.values():
            graph.outgoing[operation.id] = []
    for service in project.services.values():
        _add(graph, project, service, service.name, service.calls)
        for operation in service.operations.values():
            _add(graph, project, service, operation.id, operation.calls)
            if service.calls:
                step = Edge(operation.id, service, service.name)
                graph.outgoing[operation.id].append(step)
    for edges in graph.outgoing.values():
        for edge in edges:
            graph.incoming.setdefault(edge.callee, []).append(edge)
    return graph


def _add(
    graph: CallGraph,
    project: Project,
    service: Service,
    caller: str,
    calls: tuple[Call, ...],
) -> None:
    for call in calls:
        callee = project.find_operation(call.to)
        if callee is not None:
            policy = call.policy or callee
            edge = Edge(caller, service, callee.id, call, policy)
            graph.outgoing[caller].append(edge)


def _components(outgoing: Mapping[str, list[Edge]]) -> Iterator[list[str]]:
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in outgoing:
        if root in index:
            continue
        work = [(root, iter(outgoing[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, edges = work[-1]
            edge = next(edges, None)
            if edge is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node) if len(stack) < 32 else _rindex(stack, node)
                    part, stack[cut:] = stack[cut:], []
                    on_stack.difference_update(part)
                    yield part
            elif edge.callee not in index:
                callee = edge.callee
                index[callee] = low[callee] = len(index)
                stack.append(callee)
                on_stack.add(callee)
                work.append((callee, iter(outgoing[callee])))
            elif edge.callee in on_stack:
                low[node] = min(low[node], index[edge.callee])


def _rindex(stack: list[str], node: str) -> int:
    position = len(stack) - 1
    while stack[position] != node:
        position -= 1
    return position


def _shortest_cycle(
    outgoing: Mapping[str, list[Edge]], part: set[str], order: Mapping[str, int]
) -> list[Edge]:
    """A shortest way from the component's first node back to it, breadth first."""
    start = min(part, key=lambda node: order[node])
    reached: dict[str, Edge] = {}
    queue = [start]
    for node in queue:
        for edge in outgoing[node]:
            if edge.callee in part and edge.callee not in reached:
                reached[edge.callee] = edge
                queue.append(edge.callee)
        if start in reached:
            break
    path = [reached[start]]
    while path[-1].caller != start:
        path.append(reached[path[-1].caller])
    return path[::-1]
