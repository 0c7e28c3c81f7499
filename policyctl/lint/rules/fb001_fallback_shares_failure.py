"""FB001: fallbacks that fail together with what they replace."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Related, Severity
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Operation


class FallbackSharesFailure(Rule):
    """The fallback fails together with the primary.

    What:
        `fallback.operation` belongs to the same service as the primary, to a service of
        the same `facts.domain`, or to one that reaches a common service with the primary
        within two calls.

    Why:
        A fallback is needed when the primary is down. One that depends on the same
        database is down too, and hits it with other requests on top.

    Bad:
        version: 1
        service: orders_db
        owner: orders-team
        facts: {domain: db-1}
        operations:
          read:
            transport: sql
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            fallback: {operation: orders_replica.read}
        ---
        version: 1
        service: orders_replica
        owner: orders-team
        facts: {domain: db-1}
        operations:
          read:
            transport: sql
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s

    Good:
        version: 1
        service: orders_db
        owner: orders-team
        facts: {domain: db-1}
        operations:
          read:
            transport: sql
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            fallback: {operation: orders_replica.read}
        ---
        version: 1
        service: orders_replica
        owner: orders-team
        facts: {domain: db-2}
        operations:
          read:
            transport: sql
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s

    Fix:
        Fall back to a value or to something that shares nothing with the primary.

    False positives:
        Replicas with hardware of their own: state different domains.

    References:
        AWS Builders' Library, Avoiding fallback in distributed systems
    """

    code: ClassVar[str] = "FB001"
    name: ClassVar[str] = "fallback-shares-failure"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = ("facts.domain",)

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        fallback = site.policy.fallback
        if fallback is None or fallback.operation is None:
            return
        other = context.project.find_operation(fallback.operation)
        if other is None:
            return
        reason = _common(site.policy, other, context)
        if reason is None:
            services = (site.policy.service, other.service)
            yield from missing(_without_domain(services, context))
            return
        yield self.finding(
            site.place,
            "fallback.operation",
            f"{site.policy.id} falls back to {other.id}, and {reason}",
            help="fall back to a value, or to something that shares nothing with it",
            also=(Related(other.span, "the fallback"),),
        )


def _without_domain(services: tuple[str, str], context: Context) -> list[str]:
    known = context.project.services
    return [f"{s}.facts.domain" for s in services if known[s].facts.domain is None]


def _common(primary: Operation, other: Operation, context: Context) -> str | None:
    """What both depend on, in words."""
    if primary.service == other.service:
        return f"both are served by {primary.service}"
    services = context.project.services
    domain = services[primary.service].facts.domain
    if domain is not None and domain == services[other.service].facts.domain:
        return f"both are in the failure domain {domain}"
    shared = _reached(primary, context) & _reached(other, context)
    shared |= {primary.service} & _reached(other, context)
    if shared:
        return f"both need {sorted(shared)[0]}"
    return None


def _reached(operation: Operation, context: Context) -> set[str]:
    """Services that an operation needs within two calls, without its own."""
    found: set[str] = set()
    nodes = {operation.id}
    for _ in range(2):
        near: set[str] = set()
        for node in nodes:
            for edge in _calls(node, context):
                near.add(edge)
                found.add(edge.partition(".")[0])
        nodes = near
    return found - {operation.service}


def _calls(node: str, context: Context) -> list[str]:
    """Operations that a node calls and waits for, by itself or as its service."""
    names = [node, node.partition(".")[0]]
    return [
        edge.callee
        for name in names
        for edge in context.graph.outgoing.get(name, ())
        if edge.call is not None and not edge.detached
    ]
