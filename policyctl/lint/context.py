"""What rules see: all services, the call graph, traffic, and places in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from policyctl.lint import graph, place
from policyctl.lint.graph import CallGraph, Edge
from policyctl.lint.place import Place
from policyctl.lint.traffic import Load, Traffic
from policyctl.resolve.policy import Operation, Project, Queue, Service

if TYPE_CHECKING:
    from policyctl.lint.paths import RetryPaths


@dataclass(frozen=True, slots=True)
class Site:
    """One set of settings in use: an operation's, or a caller's override of them.

    Attributes:
        policy: the settings.
        service: the service whose document declares them.
        edge: the call that overrides; None for the operation itself.
        place: where it is declared.
    """

    policy: Operation
    service: Service
    edge: Edge | None
    place: Place


@dataclass(frozen=True, slots=True)
class QueueSite:
    """A queue with its service and place."""

    queue: Queue
    service: Service
    place: Place


class Context:
    """One run's project with what is derived from it, each computed once.

    ``memory`` keeps the demand on each service, by its name, and what circuits of whole
    services see.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.memory: dict[str, Any] = {}

    @cached_property
    def graph(self) -> CallGraph:
        """The call graph over all services."""
        return graph.build(self.project)

    @cached_property
    def traffic(self) -> Traffic:
        """Rates and callers."""
        return Traffic(self.project, self.graph)

    @cached_property
    def retry_paths(self) -> RetryPaths:
        """Paths with the largest products of attempts."""
        from policyctl.lint.paths import RetryPaths

        return RetryPaths(self)

    @cached_property
    def worst_loads(self) -> dict[str, float]:
        """Attempts/s that reach each node when everything fails (a lower bound)."""
        from policyctl.lint.paths import worst_loads

        return worst_loads(self, self.retry_paths)

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Every operation and every override, in the order of the files."""
        return tuple(self._sites())

    def _sites(self) -> Iterator[Site]:
        for operation in self.project.operations():
            service = self.project.services[operation.service]
            yield Site(operation, service, None, place.of_operation(operation))
        for edge in self.graph.edges():
            if edge.call is not None and edge.call.policy is not None:
                policy = edge.call.policy
                spot = place.of_override(edge.call, policy, edge.service)
                yield Site(policy, edge.service, edge, spot)

    def base_of(self, site: Site) -> Site | None:
        """The operation's own site that an override is laid over."""
        operation = self.project.find_operation(site.policy.id)
        if site.edge is None or operation is None:
            return None
        service = self.project.services[operation.service]
        return Site(operation, service, None, place.of_operation(operation))

    @cached_property
    def queues(self) -> tuple[QueueSite, ...]:
        """Every queue, in the order of the files."""
        return tuple(
            QueueSite(queue, service, place.of_queue(queue, service))
            for service in self.project.services.values()
            for queue in service.queues.values()
        )

    def load(self, site: Site) -> Load:
        """The traffic under a site's settings."""
        if site.edge is not None:
            return self.traffic.of_edge(site.edge)
        return self.traffic.of_operation(site.policy)

    def place_of(self, edge: Edge) -> Place:
        """Where a call's settings are seen: its override, or its entry in ``calls``.

        The settings of an entry without an override are the callee's, which
        ``origins`` of the place lead to.
        """
        if edge.call is None or edge.policy is None:
            return place.of_service(edge.service)
        if edge.call.policy is not None:
            return place.of_override(edge.call, edge.call.policy, edge.service)
        return place.of_call(edge.call, edge.policy, edge.service)
