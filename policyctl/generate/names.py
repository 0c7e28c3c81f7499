"""Which names of a policy can be names of files, modules and variables.

The model refuses bad names with a place in the YAML; what is here holds for whatever
reaches the generator, so that no name becomes a path or an import by accident.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from policyctl.checks.names import check_name, fold
from policyctl.diagnostics import Diagnostic, Related, Severity, Span
from policyctl.resolve.policy import Service
from policyctl.units import UnitError, quote

_RESERVED_SERVICES = frozenset({"policies"})
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)


def check_names(services: Iterable[Service]) -> Iterator[Diagnostic]:
    """Findings for names that cannot be generated, and for names that fold to one."""
    seen: dict[str, Service] = {}
    for service in services:
        span = _key_span(service, ("service",))
        reason = problem(service.name) or _file_problem(service.name)
        if reason is not None:
            yield _bad(f"service {quote(service.name)}", reason, span, service.name)
        yield from _check_members(service)
        first = seen.setdefault(fold(service.name), service)
        if first is not service:
            yield Diagnostic(
                "GN002",
                "name-collision",
                Severity.ERROR,
                f"services {quote(first.name)} and {quote(service.name)} would be "
                "generated into one file",
                span,
                related=(Related(_key_span(first, ("service",)), "the other one"),),
                help="rename one of them",
                policy_path=service.name,
            )


def _check_members(service: Service) -> Iterator[Diagnostic]:
    groups = (("operations", service.operations), ("queues", service.queues))
    seen: dict[str, tuple[str, Span]] = {}
    for group, members in groups:
        for name in members:
            span = _key_span(service, (group, name))
            path = f"{service.name}.{group}.{name}"
            reason = problem(name)
            if reason is not None:
                yield _bad(f"{group[:-1]} {quote(name)}", reason, span, path)
            other, place = seen.setdefault(fold(name), (name, span))
            if place is not span:
                yield Diagnostic(
                    "GN002",
                    "name-collision",
                    Severity.ERROR,
                    f"{quote(other)} and {quote(name)} would be generated as one name",
                    span,
                    related=(Related(place, "the other one"),),
                    help="rename one of them",
                    policy_path=path,
                )


def problem(name: str) -> str | None:
    """Why ``name`` cannot be a file, module or variable, or None."""
    try:
        check_name(name)
    except UnitError as error:
        return error.message
    return None


def _file_problem(name: str) -> str | None:
    if name in _RESERVED_SERVICES:
        return "the generated package uses this name itself"
    if _DEVICES.fullmatch(name):
        return "Windows reserves this file name for a device"
    return None


def _key_span(service: Service, path: tuple[str, ...]) -> Span:
    if len(path) == 1:
        return service.document.locate(path)
    return service.document.locate_key(path)


def _bad(what: str, reason: str, span: Span, path: str) -> Diagnostic:
    return Diagnostic(
        "GN001",
        "unusable-name",
        Severity.ERROR,
        f"{what} cannot be generated: {reason}",
        span,
        help="rename it in snake_case, for example payment_api",
        policy_path=path,
    )
