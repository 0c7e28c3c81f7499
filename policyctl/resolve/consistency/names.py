"""Names that a generated package could not tell apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from policyctl.diagnostics import Diagnostic, Related, Span
from policyctl.resolve.collect import Declared
from policyctl.resolve.findings import finding
from policyctl.resolve.layers import Merged


def fold(name: str) -> str:
    """The form in which two names clash: NFKC, without case."""
    return unicodedata.normalize("NFKC", name).casefold()


def check(merged: Merged) -> Iterator[Diagnostic]:
    """Find operations, queues and the target class that share one name."""
    seen: dict[str, tuple[str, str, Span]] = {}
    for kind, name, span in _names(merged):
        first = seen.setdefault(fold(name), (kind, name, span))
        if first[2] != span:
            yield finding(
                "VA102",
                f"{kind} {name!r} and {first[0]} {first[1]!r} would generate one name",
                span,
                help="rename one of them",
                related=[Related(first[2], f"{first[0]} {first[1]!r}")],
                path=f"{merged.name}.{kind}s.{name}",
            )


def _names(merged: Merged) -> Iterator[tuple[str, str, Span]]:
    document, data = merged.document, merged.declared.data
    target = data.get("target")
    if target is not None and target != "off":
        name = target.rpartition(":")[2].rpartition(".")[2]
        yield "target class", name, document.locate(("target",))
    for kind in ("operation", "queue"):
        for name in data.get(f"{kind}s", {}):
            yield kind, name, document.locate_key((f"{kind}s", name))


def unique(declared: Iterable[Declared]) -> tuple[list[Declared], list[Diagnostic]]:
    """The first document of each service, and findings about the others."""
    first: dict[str, Declared] = {}
    kept: list[Declared] = []
    findings: list[Diagnostic] = []
    for service in declared:
        other = first.setdefault(fold(service.name), service)
        if other is service:
            kept.append(service)
        elif service.reported or other.reported:
            findings.append(_double(service, other))
    return kept, findings


def _double(service: Declared, other: Declared) -> Diagnostic:
    place = other.document.locate(("service",))
    same = service.name == other.name
    return finding(
        "VA101" if same else "VA102",
        (
            f"service {service.name!r} is declared twice"
            if same
            else f"services {service.name!r} and {other.name!r} would generate one module"
        ),
        service.document.locate(("service",)),
        help="rename one of them, or merge them into one document",
        related=[Related(place, "first declared here")],
        path=service.name,
    )
