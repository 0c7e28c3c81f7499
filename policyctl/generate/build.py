"""From a resolved project to the bytes of every file of the package, or findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from policyctl._version import __version__
from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate.assemble import (
    EVERY_SOURCE,
    Assembly,
    Step,
    locked_service,
    package_contexts,
)
from policyctl.generate.clients.plan import Clients, plan_clients
from policyctl.generate.edges import check_edges, own_edges
from policyctl.generate.expressions import plain
from policyctl.generate.literals import UnprintableError
from policyctl.generate.lock import Lock
from policyctl.generate.memo import Memo
from policyctl.generate.names import check_names
from policyctl.generate.options import GenerateOptions
from policyctl.generate.partial import PartialError, read_kept
from policyctl.generate.support import unsupported
from policyctl.generate.team import TemplateError, check_folder
from policyctl.model.code.conditions import Conditions
from policyctl.model.code.library import Library
from policyctl.model.sources import search_path
from policyctl.resolve.policy import Operation, Project, Service

__all__ = [
    "EVERY_SOURCE",
    "Built",
    "Prepared",
    "build",
    "finish",
    "locked_service",
    "package_contexts",
    "prepare",
    "read_clients",
]

GENERATOR = f"policyctl {__version__}"
_OPTION_HELP = {
    "GN005": "generate the whole package: run policyctl generate without file names",
    "GN008": "name files or folders with a service in them",
}


@dataclass(frozen=True, slots=True)
class Built:
    """The package in memory.

    Attributes:
        tree: the bytes of every file by its path below the output folder; empty when
            there are errors.
        diagnostics: why it could not be built, in the order of reports.
    """

    tree: Mapping[PurePosixPath, bytes]
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class Prepared:
    """Services that can be generated, or why they cannot.

    Attributes:
        services: those that are left to generate, the first one last.
        clients: what their targets offer, by service.
        kept: what stays in the package besides them.
        diagnostics: why nothing can be generated, in the order of reports.
    """

    services: list[Service] = field(default_factory=list[Service])
    clients: dict[str, Clients] = field(default_factory=dict[str, Clients])
    kept: Lock = field(default_factory=lambda: Lock(GENERATOR, {}, {}))
    diagnostics: tuple[Diagnostic, ...] = ()


def build(project: Project, options: GenerateOptions) -> Built:
    """Build the package of a project; nothing is written.

    The services that ``project`` reports are built. With ``options.partial`` the lock
    file on disk says what else the package holds, and that stays.
    """
    prepared = prepare(project, options)
    if prepared.diagnostics:
        return Built({}, prepared.diagnostics)
    return finish(prepared, options)


def prepare(project: Project, options: GenerateOptions) -> Prepared:
    """Look for everything that stands against generating a project."""
    services = _selected(project)
    if not services:
        message = "there is no service to generate"
        found = _option("GN008", "no-services", message, options)
        return Prepared(diagnostics=(found,))
    lock, findings = _kept(services, options)
    findings += check_names(services)
    clients = read_clients(services, options)
    for service in services:
        findings += clients[service.name].findings
        findings += check_edges(service)
        findings += unsupported(service)
        findings += _unprintable(service)
    if options.templates is not None:
        findings += check_folder(options.templates)
    return Prepared(
        services[::-1],
        clients,
        lock,
        tuple(sorted(findings, key=lambda d: d.sort_key)),
    )


def finish(
    prepared: Prepared,
    options: GenerateOptions,
    memo: Memo | None = None,
    step: Step | None = None,
) -> Built:
    """Build the package of what was prepared; its services are let go one by one.

    With ``memo``, files that are on disk as this very generator printed them before are
    in the tree by their digest alone.
    """
    assembly = Assembly(options, memo)
    total = len(prepared.services)
    try:
        for name, entry in prepared.kept.services.items():
            assembly.keep(name, entry)
        while prepared.services:
            service = prepared.services.pop()
            assembly.add(service, prepared.clients.pop(service.name))
            if step is not None:
                step(total - len(prepared.services), total)
        return Built(assembly.finish(prepared.kept))
    except TemplateError as error:
        return Built({}, (error.finding,))


def read_clients(
    services: Iterable[Service], options: GenerateOptions
) -> dict[str, Clients]:
    """The typed clients of each service; code is read anew in every run."""
    version = tuple(int(part) for part in options.target_python.split("."))
    library = Library(search_path(), Conditions(version))
    return {service.name: plan_clients(service, library) for service in services}


def _selected(project: Project) -> list[Service]:
    names = project.reported.intersection(project.services)
    return [project.services[name] for name in sorted(names)]


def _kept(
    services: Iterable[Service], options: GenerateOptions
) -> tuple[Lock, list[Diagnostic]]:
    """What stays in the package: the lock file without the services of this run."""
    empty = Lock(GENERATOR, options.plain(), {})
    if not options.partial:
        return empty, []
    try:
        old = read_kept(options, frozenset(service.name for service in services))
    except PartialError as error:
        return empty, [_option("GN005", "partial-mismatch", str(error), options)]
    return replace(empty, services=old.services, files=old.files), []


def _option(code: str, name: str, message: str, options: GenerateOptions) -> Diagnostic:
    return Diagnostic(
        code,
        name,
        Severity.ERROR,
        message,
        Span(options.output.as_posix()),
        help=_OPTION_HELP[code],
    )


def _unprintable(service: Service) -> Iterator[Diagnostic]:
    edges = [policy for _, policy in own_edges(service).values()]
    operations: list[Operation] = [*service.operations.values(), *edges]
    for operation in operations:
        if operation.fallback is None:
            continue
        try:
            plain(operation.fallback.value, 0)
        except UnprintableError as error:
            yield Diagnostic(
                "GN004",
                "unprintable-value",
                Severity.ERROR,
                f"the fallback value cannot be generated: {error}",
                operation.origin("fallback.value").span or operation.span,
                help="use fallback.call with a function that returns the value",
                policy_path=f"{operation.path}.fallback.value",
            )
