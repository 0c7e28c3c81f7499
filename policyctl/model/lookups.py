"""Findings about references into Python code that is installed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from policyctl.checks.references import nearest, parse_exception, parse_reference
from policyctl.diagnostics import Diagnostic
from policyctl.model.codes import finding
from policyctl.model.place import dotted
from policyctl.model.prepare import Reference
from policyctl.model.sources import search_path
from policyctl.model.static import Lookup, Missing
from policyctl.source.nodes import Document
from policyctl.units import UnitError, quote


@cache
def _lookup(places: tuple[str, ...]) -> Lookup:
    return Lookup(places)


def shared_lookup() -> Lookup:
    """The look-ups of this process for its present search path."""
    return _lookup(search_path())


def check_references(
    document: Document, references: Iterable[Reference], lookup: Lookup | None = None
) -> Iterator[Diagnostic]:
    """Yield a finding for each reference that an installed package does not have."""
    for reference in references:
        try:
            if reference.kind == "invalid-exception":
                parse_exception(reference.text, rejections=True)
            module, name = parse_reference(reference.text)
        except UnitError:
            continue
        yield from _check(document, reference, module, name, lookup or shared_lookup())


def _check(
    document: Document, reference: Reference, module: str, name: str, lookup: Lookup
) -> Iterator[Diagnostic]:
    found = lookup.find(module, name)
    path = dotted(document, reference.path)
    span = document.span(reference.node)
    if isinstance(found, Missing):
        yield finding("not-found", span, *_missing(found, module), policy_path=path)
    elif found is not None and reference.kind == "invalid-exception":
        kind = lookup.exception_kind(found)
        if kind == "other":
            message = f"{quote(reference.text)} is not an exception"
            hint = "name a class that derives from Exception"
            yield finding("not-an-exception", span, message, hint, policy_path=path)
        elif kind == "base":
            message = f"{quote(reference.text)} is never handled by a policy: it always passes through"
            hint = "name Exception or one of its subclasses"
            yield finding("not-an-exception", span, message, hint, policy_path=path)


def _missing(found: Missing, module: str) -> tuple[str, str]:
    near = nearest(found.name, found.names)
    if found.module == module.rpartition(".")[0] and not found.names:
        return f"there is no module {quote(module)}", "correct the module's name"
    hint = (
        f"did you mean {near}?"
        if near
        else "correct the name; the package is installed here"
    )
    return f"{quote(found.module)} has no {quote(found.name)}", hint
