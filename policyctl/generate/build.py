"""From a resolved project to the bytes of every file of the package, or findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from policyctl._version import __version__
from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate import render
from policyctl.generate.bundle import bundled_runtime
from policyctl.generate.clients.plan import Clients, plan_clients
from policyctl.generate.contexts import PackageContext
from policyctl.generate.digest import (
    content_digest,
    plain_service,
    policy_digest,
)
from policyctl.generate.edges import check_edges, own_edges, policy_names
from policyctl.generate.expressions import plain
from policyctl.generate.format import formatted
from policyctl.generate.header import Header
from policyctl.generate.literals import UnprintableError
from policyctl.generate.lock import LOCK_NAME, Lock, LockedService
from policyctl.generate.names import check_names
from policyctl.generate.options import GenerateOptions
from policyctl.generate.partial import PartialError, read_kept
from policyctl.generate.plan import module_context
from policyctl.generate.plan_package import package_context
from policyctl.generate.sources import source_label
from policyctl.generate.support import unsupported
from policyctl.generate.team import TemplateError, check_folder, not_python
from policyctl.model.code.conditions import Conditions
from policyctl.model.code.library import Library
from policyctl.model.sources import search_path
from policyctl.resolve.policy import Operation, Project, Service

GENERATOR = f"policyctl {__version__}"
_OPTION_HELP = {
    "GN005": "generate the whole package: run policyctl generate without file names",
    "GN008": "name files or folders with a service in them",
}
EVERY_SOURCE = f"every policy in {LOCK_NAME}"


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


def build(project: Project, options: GenerateOptions) -> Built:
    """Build the package of a project; nothing is written.

    The services that ``project`` reports are built. With ``options.partial`` the lock
    file on disk says what else the package holds, and that stays.
    """
    services = _selected(project)
    if not services:
        message = "there is no service to generate"
        return Built({}, (_option("GN008", "no-services", message, options),))
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
    if findings:
        return Built({}, tuple(sorted(findings, key=lambda d: d.sort_key)))
    try:
        return Built(_tree(services, clients, lock, options))
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


def _tree(
    services: Iterable[Service],
    clients: Mapping[str, Clients],
    kept: Lock,
    options: GenerateOptions,
) -> dict[PurePosixPath, bytes]:
    locked = dict(kept.services)
    files: dict[str, bytes] = {}
    for service in services:
        own = clients[service.name]
        entry = locked_service(service, own, options)
        header = Header(entry.source, entry.digest)
        locked[service.name] = entry
        context = module_context(service, header, options, own)
        text = render.render_module(context, options.templates)
        files[f"{service.name}.py"] = _encode(text, options, "module.py.jinja")
    files.update(_package_files({n: s.policy for n, s in locked.items()}, options))
    digests = {name: content_digest(content) for name, content in files.items()}
    lock = replace(kept, services=locked, files={**kept.files, **digests})
    files[LOCK_NAME] = lock.render()
    return {PurePosixPath(name): files[name] for name in sorted(files)}


def locked_service(
    service: Service, clients: Clients, options: GenerateOptions
) -> LockedService:
    """What the lock file keeps of a service: its values, and what its target is."""
    policy = plain_service(service)
    if clients.classes:
        policy = {**policy, "clients": clients.digests()}
    return LockedService(
        policy_digest(policy, options.plain()),
        source_label(service.path, options.root),
        policy,
    )


def package_contexts(
    policies: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> tuple[PackageContext, PackageContext]:
    """The contexts of ``__init__.py`` and ``registry.py``.

    ``policies`` are plain resolved values by service, as in the lock file.
    """
    names = {name: policy_names(policy) for name, policy in policies.items()}
    header = Header(EVERY_SOURCE, policy_digest(names, options.plain()))
    return (
        package_context(policies, header, options, is_registry=False),
        package_context(policies, header, options, is_registry=True),
    )


def _package_files(
    policies: Mapping[str, Mapping[str, Any]], options: GenerateOptions
) -> Iterator[tuple[str, bytes]]:
    package, registry = package_contexts(policies, options)
    folder = options.templates
    text = render.render_package(package, folder)
    yield "__init__.py", _encode(text, options, "package.py.jinja")
    text = render.render_registry(registry, folder)
    yield "registry.py", _encode(text, options, "registry.py.jinja")
    yield "py.typed", b""
    if options.runtime == "bundled":
        yield from bundled_runtime().items()


def _encode(text: str, options: GenerateOptions, template: str) -> bytes:
    try:
        return formatted(text, options.target_python).encode("utf-8")
    except ValueError as error:
        if options.templates is None:
            raise
        raise not_python(options.templates, template, error) from error
