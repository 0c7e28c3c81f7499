"""Calls that a service makes under settings of its own: edges with an ``override``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policyctl.diagnostics import Diagnostic, Related, Severity
from policyctl.generate.digest import plain
from policyctl.resolve.policy import Call, Operation, Service

Own = tuple[Call, Operation]


def own_edges(service: Service) -> dict[str, Own]:
    """The edges with an override by what they call, each with its policy."""
    found: dict[str, Own] = {}
    for edge, policy in _overridden(service):
        found.setdefault(edge.to, (edge, policy))
    return found


def edge_name(to: str) -> str:
    """The name that an edge's policy goes by inside the caller's service."""
    return f"to.{to}"


def policy_names(policy: Mapping[str, Any]) -> list[str]:
    """The names of all policies of a service from its plain resolved values."""
    operations: Mapping[str, Any] = policy.get("operations", {})
    edges = [*policy.get("calls", [])]
    for operation in operations.values():
        edges.extend(operation.get("calls", []))
    own = {edge_name(edge["to"]) for edge in edges if edge.get("policy") is not None}
    return sorted([*operations, *own])


def check_edges(service: Service) -> Iterator[Diagnostic]:
    """Findings for two edges that give one callee different settings."""
    first = own_edges(service)
    for edge, policy in _overridden(service):
        other, settings = first[edge.to]
        if other is not edge and plain(policy) != plain(settings):
            yield Diagnostic(
                "GN002",
                "name-collision",
                Severity.ERROR,
                f"two overrides for {edge.to} would be generated as one policy",
                edge.span,
                related=(Related(other.span, "the other one"),),
                help="give both the same settings, or call under one of them",
                policy_path=edge.path,
            )


def _overridden(service: Service) -> Iterator[Own]:
    calls = [*service.calls]
    for operation in service.operations.values():
        calls.extend(operation.calls)
    for edge in calls:
        if edge.policy is not None:
            yield edge, edge.policy
