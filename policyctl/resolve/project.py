"""Load a project: read, parse, resolve and check all files of a run."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from policyctl.diagnostics import Diagnostic
from policyctl.model.static import Lookup
from policyctl.resolve import build_service
from policyctl.resolve.build import build_operation
from policyctl.resolve.build_facts import service_facts
from policyctl.resolve.collect import Collected, collect, read_folder
from policyctl.resolve.consistency import names, overrides, shared_queues
from policyctl.resolve.environments import check_environment
from policyctl.resolve.inputs import InputFile, Inputs, Loaded
from policyctl.resolve.judge import Judged, judge
from policyctl.resolve.layers import Layers
from policyctl.resolve.link import Links
from policyctl.resolve.origins import Origins
from policyctl.resolve.policy import Operation, Project, Queue, Service
from policyctl.resolve.presets import Presets
from policyctl.resolve.references import References

__all__ = ["InputFile", "Inputs", "Loaded", "load_project"]


def load_project(inputs: Inputs) -> Loaded:
    """Resolve everything that ``inputs`` name, and report all that is wrong with it.

    Nothing is raised for bad policies: a service with errors is left out of the
    project and the rest goes on, so that one run shows the findings of all files.
    Findings of files that are context alone are left out.
    """
    with _collector_paused():
        return _load(inputs)


@contextmanager
def _collector_paused() -> Generator[None]:
    """Pause cyclic garbage collection.

    Loading makes objects by the million and hardly any garbage; looking through them
    again and again takes as long as the loading itself.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load(inputs: Inputs) -> Loaded:
    collected = _collect(inputs)
    findings = list(collected.findings)
    presets = Presets(collected, inputs.packaged)
    layers = Layers(presets)
    declared, doubles = names.unique(collected.services)
    findings += doubles
    lookup = Lookup()
    findings += check_environment(inputs.environment, declared)
    collected.services.clear()
    declared.reverse()
    judged: dict[str, Judged] = {}
    while declared:
        merged = layers.merge(declared.pop(), inputs.environment)
        judged[merged.name] = _lighter(judge(merged, lookup))
    findings += presets.check()
    links = Links(judged, _references(judged, collected))
    _link(judged, links)
    for service in judged.values():
        _judge_other_environments(service, layers, links, inputs.environment)
    _clash(judged)
    for service in judged.values():
        if service.merged.declared.reported:
            findings += service.findings
    built = _build(judged, links)
    project = Project(
        services=built,
        documents=(*collected.documents, *presets.documents),
        environment=inputs.environment,
        reported=frozenset(
            name for name in built if judged[name].merged.declared.reported
        ),
    )
    return Loaded(project, _tidy(findings))


def _lighter(service: Judged) -> Judged:
    """Let go of the document's plain data, most of which lives on in the merged trees.

    Where there are other environments to judge, it is still needed.
    """
    merged = service.merged
    data = merged.declared.data
    if "environments" not in data and "ignore" not in data:
        merged.declared = replace(merged.declared, data={})
    return service


def _collect(inputs: Inputs) -> Collected:
    files = list(inputs.files)
    unread: list[Diagnostic] = []
    for folder in inputs.preset_folders:
        more, findings = read_folder(folder, [file.path for file in files])
        files += more
        unread += findings
    collected = collect(files, frugal=inputs.frugal)
    collected.findings += unread
    return collected


def _references(judged: Mapping[str, Judged], collected: Collected) -> References:
    return References(
        {name: service.merged.operations for name, service in judged.items()},
        collected.broken_services,
        collected.anonymous,
    )


def _link(judged: Mapping[str, Judged], links: Links) -> None:
    """Add the findings about references to the services that make them."""
    found = {
        name: list(links.check(service))
        for name, service in judged.items()
        if service.merged.complete
    }
    for name, findings in found.items():
        judged[name].findings += findings
    for name, cycle in links.cycles():
        judged[name].findings.append(cycle)


def _judge_other_environments(
    service: Judged, layers: Layers, links: Links, environment: str | None
) -> None:
    """Check a service as it is in each environment that is not loaded.

    A mistake in the overlay of production should not wait for its deployment. What is
    wrong in every environment is found once, since the place is the same.
    """
    merged = service.merged
    for name in merged.declared.data.get("environments", {}):
        if name != environment and merged.complete:
            other = judge(layers.merge(merged.declared, name), service.context.lookup)
            service.findings += other.findings
            service.findings += links.check(other)


def _clash(judged: Mapping[str, Judged]) -> None:
    """Add the findings about what services have in common to those they concern."""
    owners = [owner for service in judged.values() for owner in _owners(service)]
    queues = [named for service in judged.values() for named in _queues_of(service)]
    records = [named for service in judged.values() for named in _records(service)]
    for found, services in (
        *overrides.check(owners),
        *shared_queues.check(queues, records),
    ):
        for name in services:
            judged[name].findings.append(found)


def _owners(service: Judged) -> Iterator[overrides.Owner]:
    name = service.merged.name
    for subjects in (service.operations, service.queues):
        for owner, subject in subjects.items():
            yield name, owner, subject
    if service.inbound is not None:
        yield name, "inbound", service.inbound


def _queues_of(service: Judged) -> Iterator[shared_queues.Named]:
    for subject in service.queues.values():
        yield service.merged.name, subject, service.context.redis_url


def _records(service: Judged) -> Iterator[shared_queues.Named]:
    for subject in service.operations.values():
        yield service.merged.name, subject, service.context.redis_url


def _build(judged: Mapping[str, Judged], links: Links) -> dict[str, Service]:
    """Build all valid services: operations first, since queues look at them."""
    valid = {name: service for name, service in judged.items() if service.valid}
    operations = {name: _operations(service, links) for name, service in valid.items()}

    def find(name: str) -> Operation | None:
        service, _, operation = name.partition(".")
        return operations.get(service, {}).get(operation)

    return {
        name: _service(service, operations[name], links, find)
        for name, service in valid.items()
    }


def _operations(service: Judged, links: Links) -> dict[str, Operation]:
    merged = service.merged
    return {
        name: build_operation(
            subject.tree,
            service=merged.name,
            name=name,
            path=subject.path,
            span=subject.span,
            document=merged.document,
            calls=tuple(map(links.call, service.operation_calls[name])),
            redis_url=service.context.redis_url,
        )
        for name, subject in service.operations.items()
    }


def _service(
    service: Judged,
    operations: dict[str, Operation],
    links: Links,
    find: build_service.Find,
) -> Service:
    merged = service.merged
    settings, document = merged.settings, merged.document
    inbound = None if service.inbound is None else service.inbound.tree
    return Service(
        name=merged.name,
        document=document,
        span=document.locate(("service",)),
        owner=settings.get("owner"),
        description=settings.get("description"),
        service_class=settings.get("class") or "online",
        critical=bool(settings.get("critical")),
        target=settings.get("target"),
        redis_url_env=build_service.redis_url(merged),
        facts=service_facts(settings.block("facts")),
        operations=operations,
        calls=tuple(map(links.call, service.calls)),
        inbound=build_service.inbound(inbound, service.context.redis_url),
        queues=_queues(service, find),
        telemetry=build_service.telemetry(settings.block("telemetry")),
        ignores=build_service.ignores(merged),
        origins=Origins(settings),
        extends=merged.extends,
    )


def _queues(service: Judged, find: build_service.Find) -> dict[str, Queue]:
    return {
        name: build_service.queue(
            build_service.fill_lease(subject.tree, find), service.merged, name
        )
        for name, subject in service.queues.items()
    }


def _tidy(findings: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort findings, each place and message once: many operations share a preset."""
    unique = {(f.code, f.span, f.message, f.related): f for f in reversed(findings)}
    return tuple(sorted(unique.values(), key=lambda found: found.sort_key))
