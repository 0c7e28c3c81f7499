"""Whether the requested environment is one that the policies know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policyctl.checks.references import nearest
from policyctl.diagnostics import Diagnostic, Related, Severity, Span
from policyctl.resolve.collect import Declared
from policyctl.resolve.findings import finding


def check_environment(
    environment: str | None, services: Sequence[Declared]
) -> Iterator[Diagnostic]:
    """Find a misspelt environment; one that nobody overlays is a warning.

    Where no document has any overlay, every name is as good as another: all
    environments are equal then.
    """
    if environment is None:
        return
    known: dict[str, Declared] = {}
    for service in services:
        for name in service.data.get("environments", {}):
            known.setdefault(name, service)
    if not known or environment in known:
        return
    near = nearest(environment, known)
    first = next(iter(known.values()))
    related: list[Related] = []
    if near is not None:
        first = known[near]
        place = first.document.locate_key(("environments", near))
        related = [Related(place, f"environment {near}")]
    yield finding(
        "VA109",
        f"no policy has an environment {environment!r}",
        _place(first),
        help=(
            f"did you mean {near}?"
            if near
            else f"environments are {', '.join(sorted(known))}"
        ),
        related=related,
        severity=Severity.ERROR if near else Severity.WARNING,
    )


def _place(service: Declared) -> Span:
    return service.document.locate_key(("environments",))
