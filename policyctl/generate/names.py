"""Which names of a policy can be names of files, modules and variables.

The model refuses bad names with a place in the YAML; what is here holds for whatever
reaches the generator, so that no name becomes a path or an import by accident.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword, issoftkeyword
from unicodedata import normalize

from policyctl.diagnostics import Diagnostic, Related, Severity, Span
from policyctl.resolve.policy import Service
from policyctl.units import quote

RESERVED_SERVICES = frozenset({"registry"})
RESERVED_OPERATIONS = frozenset({"inbound", "registry", "to"})
MAX_LENGTH = 200
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
        first = seen.setdefault(folded(service.name), service)
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
            if name in RESERVED_OPERATIONS:
                reason = "the generated module uses this name itself"
            if reason is not None:
                yield _bad(f"{group[:-1]} {quote(name)}", reason, span, path)
            other, place = seen.setdefault(folded(name), (name, span))
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
    """Why ``name`` cannot be a variable of a generated module, or None."""
    if not name.isidentifier():
        return "it is not a Python identifier"
    if iskeyword(name) or issoftkeyword(name):
        return "it is a Python keyword"
    if name.startswith("_"):
        return "names with a leading underscore belong to the generated module"
    if normalize("NFKC", name) != name:
        return f"Python reads it as {quote(normalize('NFKC', name))}"
    if len(name.encode("utf-8")) > MAX_LENGTH:
        return f"it is over {MAX_LENGTH} bytes long"
    return None


def folded(name: str) -> str:
    """What two names have in common that one file system or Python takes for one."""
    return normalize("NFKC", name).casefold()


def _file_problem(name: str) -> str | None:
    if name in RESERVED_SERVICES:
        return "the generated package has a module of this name itself"
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
