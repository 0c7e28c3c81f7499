"""What each file of the package says: contexts that the templates only print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policyctl.generate import literals
from policyctl.generate.docstrings import listing, paragraph, quoted
from policyctl.generate.edges import edge_name, own_edges, policy_names
from policyctl.generate.expressions import policy_arguments
from policyctl.generate.header import Header
from policyctl.generate.layout import Group, call, lay_out, sequence
from policyctl.generate.options import RUNTIMES, GenerateOptions
from policyctl.generate.overrides import overrides
from policyctl.generate.words import summary
from policyctl.resolve.policy import Operation, Service

INDENT = "    "


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """One policy object.

    Attributes:
        name: the variable that holds it.
        arguments: the keyword arguments of its constructor, laid out on lines, each
            ending with a comma.
        docstring: the lines below it, with quotes; none without a description.
    """

    name: str
    arguments: tuple[str, ...]
    docstring: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CalleeContext:
    """A called service with this caller's own policies for its operations."""

    name: str
    policies: tuple[PolicyContext, ...]


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """The module of one service.

    Attributes:
        header: the lines of the comment at the top.
        docstring: the lines of the module's docstring, with quotes.
        runtime: the import name of the runtime.
        exports: the assignment of ``__all__``.
        policies: the policies of the service's operations, in the order of the file.
        callees: the services that this one calls under settings of its own.
        uses_settings: whether any policy has a block.
    """

    header: tuple[str, ...]
    docstring: tuple[str, ...]
    runtime: str
    exports: str
    policies: tuple[PolicyContext, ...]
    callees: tuple[CalleeContext, ...]
    uses_settings: bool


@dataclass(frozen=True, slots=True)
class PackageContext:
    """``__init__.py`` and ``registry.py``.

    Attributes:
        header: the lines of the comment at the top.
        docstring: the lines of the module's docstring, with quotes.
        runtime: the import name of the runtime.
        exports: the assignment of ``__all__``.
        modules: the modules that it makes available, sorted.
        operations: the assignment of ``policies``, which finds a policy by its name.
    """

    header: tuple[str, ...]
    docstring: tuple[str, ...]
    runtime: str
    exports: str
    modules: tuple[str, ...]
    operations: str


def module_context(
    service: Service, header: Header, options: GenerateOptions
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
    names = [*service.operations, *(["to"] if callees else [])]
    used = [*policies, *(p for callee in callees for p in callee.policies)]
    return ModuleContext(
        header=header.lines(),
        docstring=quoted([*_module_docstring(service, header, options)]),
        runtime=RUNTIMES[options.runtime],
        exports=exports(names),
        policies=policies,
        callees=callees,
        uses_settings=any("_settings." in a for p in used for a in p.arguments),
    )


def exports(names: Iterable[str]) -> str:
    """The assignment of ``__all__``, sorted."""
    listed = [literals.string(name) for name in sorted(names)]
    if not listed:
        return "__all__: list[str] = []"
    return lay_out("__all__ = ", sequence(listed, "[]"))


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
    variables = [
        variable
        for name, operation in service.operations.items()
        for variable in overrides(service.name, name, operation)
    ]
    if variables:
        yield ""
        yield "Limits that environment variables override at start-up, and their values:"
        yield ""
        yield from listing(variables, INDENT)


def _described(service: Service) -> Iterator[tuple[str, Operation]]:
    yield from service.operations.items()
    for to, (_, policy) in own_edges(service).items():
        yield edge_name(to), policy


def package_context(
    services: Mapping[str, Mapping[str, Any]],
    header: Header,
    options: GenerateOptions,
    *,
    is_registry: bool,
) -> PackageContext:
    """The context of ``__init__.py`` or ``registry.py``.

    ``services`` are the plain resolved values by service, as in the lock file.
    """
    modules = sorted(services)
    extra = "policies" if is_registry else "registry"
    make = _registry_docstring if is_registry else _package_docstring
    return PackageContext(
        header=header.lines(),
        docstring=quoted([*make(services, options)]),
        runtime=RUNTIMES[options.runtime],
        exports=exports([*modules, extra]),
        modules=tuple(modules if is_registry else sorted([*modules, extra])),
        operations=_policies(services),
    )


def _policies(services: Mapping[str, Mapping[str, Any]]) -> str:
    table = Group(
        "",
        "{}",
        tuple(
            (f"{literals.string(name)}: ", _strings(policy_names(services[name])))
            for name in sorted(services)
        ),
    )
    registry = call(
        "_package_registry.PackageRegistry",
        [("module", "__name__"), ("operations", table)],
    )
    return lay_out("policies: _typing.Final = ", registry)


def _strings(values: Iterable[str]) -> Group:
    return sequence([literals.string(value) for value in values])


def _package_docstring(
    services: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> Iterator[str]:
    yield "Resilience policies, one module for each service."
    yield ""
    yield "A module is loaded when it is first used:"
    yield ""
    example = min(services, default="registry")
    yield from paragraph(f"from {options.package} import {example}", INDENT)


def _registry_docstring(
    services: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> Iterator[str]:
    found = ((s, name) for s in sorted(services) for name in policy_names(services[s]))
    service, name = next(found, ("payment_api", "charge"))
    yield "Every policy of this package: by attribute, by name and by pattern."
    yield ""
    yield "A module is loaded when one of its policies is first asked for:"
    yield ""
    yield from paragraph(f"from {options.package} import registry", INDENT)
    yield ""
    yield from paragraph(f"registry.{service}.{name}", INDENT)
    yield from paragraph(f'registry.policies["{service}.{name}"]', INDENT)
    yield from paragraph(f'registry.policies.circuit_breakers("{service}.*")', INDENT)
