"""Names that a generated package could not tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policyctl.checks.names import fold
from policyctl.diagnostics import Diagnostic, Related
from policyctl.resolve.collect import Declared
from policyctl.resolve.findings import finding
from policyctl.resolve.layers import Merged


def check(merged: Merged) -> Iterator[Diagnostic]:
    """Find operations and queues named like the class that is generated for ``target``.

    Names of operations and queues among each other are the model's matter.
    """
    document, data = merged.document, merged.declared.data
    target = data.get("target")
    if target is None or target == "off":
        return
    name = target.rpartition(":")[2].rpartition(".")[2]
    for kind in ("operations", "queues"):
        for other in data.get(kind, {}):
            if other != name:
                continue
            yield finding(
                "VA102",
                f"{other!r} and the target class {name!r} would generate one name",
                document.locate_key((kind, other)),
                help=f"rename {other}",
                related=[Related(document.locate(("target",)), "the target class")],
                path=f"{merged.name}.{kind}.{other}",
            )


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
