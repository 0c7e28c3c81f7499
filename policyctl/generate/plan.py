"""What the module of a service says: a context that the template only prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policyctl.generate.clients.plan import NO_CLIENTS, Clients
from policyctl.generate.contexts import (
    CalleeContext,
    ModuleContext,
    PolicyContext,
    QueueContext,
)
from policyctl.generate.docstrings import listing, paragraph, quoted
from policyctl.generate.edges import edge_name, own_edges
from policyctl.generate.expressions import inbound_arguments, policy_arguments
from policyctl.generate.header import Header
from policyctl.generate.options import RUNTIMES, GenerateOptions
from policyctl.generate.overrides import overrides
from policyctl.generate.plan_package import exports
from policyctl.generate.queues import (
    generated,
    payload_lines,
    queue_context,
    queue_overrides,
    queue_summary,
)
from policyctl.generate.telemetry import telemetry_lines
from policyctl.generate.words import inbound_summary, summary
from policyctl.resolve.policy import Operation, Service

INDENT = "    "


def module_context(
    service: Service,
    header: Header,
    options: GenerateOptions,
    clients: Clients = NO_CLIENTS,
) -> ModuleContext:
    """The context of ``<service>.py``.

    Raises:
        UnprintableError: a value of the policy has no literal.
    """
    policies = tuple(
        _policy(name, service.name, name, operation, 4)
        for name, operation in service.operations.items()
    )
    callees = tuple(_callees(service))
    inbound: tuple[str, ...] = ()
    if service.inbound is not None:
        inbound = inbound_arguments(service.name, service.inbound)
    queues = tuple(map(queue_context, generated(service).values()))
    types, running = payload_lines(queues)
    names = [*service.operations, *(queue.name for queue in queues)]
    names += ["inbound"] if inbound else []
    names += ["to"] if callees else []
    names += [client.name for client in clients.classes]
    modules = [*_imports(policies, inbound, callees, queues)]
    modules += ["clients"] if clients.classes else []
    telemetry = telemetry_lines(service)
    modules += ["telemetry"] if telemetry else []
    return ModuleContext(
        header=header.lines(),
        docstring=quoted([*_module_docstring(service, header, options)]),
        runtime=RUNTIMES[options.runtime],
        imports=tuple(sorted(modules)),
        exports=exports(names),
        telemetry=telemetry,
        policies=policies,
        inbound=inbound,
        callees=callees,
        queues=queues,
        payload_types=tuple(types),
        payload_names=tuple(running),
        comments=clients.comments,
        client_imports=clients.imports,
        type_variables=clients.variables,
        clients=clients.classes,
    )


def _imports(
    policies: Sequence[PolicyContext],
    inbound: Sequence[str],
    callees: Sequence[CalleeContext],
    queues: Sequence[QueueContext],
) -> Iterator[str]:
    """The modules of the runtime that the printed text names."""
    used = [*policies, *(policy for callee in callees for policy in callee.policies)]
    if inbound:
        yield "inbound"
    if used:
        yield "policy"
    if queues:
        yield "queues"
    texts = [*inbound, *(text for policy in used for text in policy.arguments)]
    if any("=_settings." in text for text in texts):
        yield "settings"


def _policy(
    name: str, service: str, full_name: str, operation: Operation, indent: int
) -> PolicyContext:
    lines = policy_arguments(service, full_name, operation, indent)
    margin = " " * (indent - 4)
    described = quoted(paragraph(operation.description or "", margin), margin)
    return PolicyContext(name, lines, described)


def _callees(service: Service) -> Iterator[CalleeContext]:
    groups: dict[str, list[PolicyContext]] = {}
    for to, (edge, policy) in own_edges(service).items():
        context = _policy(edge.operation, service.name, edge_name(to), policy, 12)
        groups.setdefault(edge.service, []).append(context)
    for name, policies in groups.items():
        yield CalleeContext(name, tuple(policies))


def _module_docstring(
    service: Service, header: Header, options: GenerateOptions
) -> Iterator[str]:
    yield f"Resilience policies of {service.name}."
    if service.description:
        yield ""
        yield from paragraph(service.description)
    yield ""
    if service.owner:
        yield from paragraph(f"Owner: {service.owner}", hang=INDENT)
    yield from paragraph(f"Source: {header.source}", hang=INDENT)
    if options.environment is not None:
        yield from paragraph(f"Environment: {options.environment}", hang=INDENT)
    for name, operation in _described(service):
        yield ""
        yield from paragraph(f"{name}:")
        yield from listing(summary(operation), INDENT, INDENT)
    if service.inbound is not None:
        yield ""
        yield "inbound:"
        yield from listing(inbound_summary(service.inbound), INDENT, INDENT)
    for name, queue in service.queues.items():
        yield ""
        yield f"{name}:"
        yield from listing(queue_summary(queue), INDENT, INDENT)
    variables = list(_variables(service))
    if variables:
        yield ""
        yield "Limits that environment variables override at start-up, and their values:"
        yield ""
        yield from listing(variables, INDENT)


def _described(service: Service) -> Iterator[tuple[str, Operation]]:
    yield from service.operations.items()
    for to, (_, policy) in own_edges(service).items():
        yield edge_name(to), policy


def _variables(service: Service) -> Iterator[str]:
    for name, operation in service.operations.items():
        yield from overrides(service.name, name, operation)
    if service.inbound is not None:
        yield from overrides(service.name, "inbound", service.inbound)
    for queue in generated(service).values():
        yield from queue_overrides(queue)
