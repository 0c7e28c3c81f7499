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
from policyctl.model.static import Kind, Lookup, Missing, Parameters
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


def parameters_of(reference: str, lookup: Lookup | None = None) -> Parameters | None:
    """The parameters of ``package.module:function`` or ``…:Class.method``.

    None where they cannot be told: the package is not installed here, the reference is
    wrong, or the callable is made at run time.
    """
    try:
        module, name = parse_reference(reference)
    except UnitError:
        return None
    return (lookup or shared_lookup()).parameters_of(module, name)


def _check(
    document: Document, reference: Reference, module: str, name: str, lookup: Lookup
) -> Iterator[Diagnostic]:
    found = lookup.find(module, name)
    if found is None:
        return
    if isinstance(found, Missing):
        check, message, hint = "not-found", *_missing(found, module)
    elif reference.kind == "invalid-exception":
        check, message, hint = _no_exception(reference, lookup.exception_kind(found))
    elif reference.kind == "class" and found.is_function:
        message = f"{quote(reference.text)} is a function, not a class"
        check, hint = "not-a-class", "name a class of that module"
    else:
        return
    if message:
        span = document.span(reference.node)
        path = dotted(document, reference.path)
        yield finding(check, span, message, hint, policy_path=path)


def _no_exception(reference: Reference, kind: Kind | None) -> tuple[str, str, str]:
    shown = quote(reference.text)
    if kind == "other":
        message = f"{shown} is not an exception"
        return "not-an-exception", message, "name a class that derives from Exception"
    if kind == "base":
        message = f"{shown} is never handled by a policy: it always passes through"
        return "not-an-exception", message, "name Exception or one of its subclasses"
    return "", "", ""


def _missing(found: Missing, module: str) -> tuple[str, str]:
    near = nearest(found.name, found.names)
    if module.startswith(f"{found.module}.") and not found.names:
        missing = f"{found.module}.{found.name}"
        return f"there is no module {quote(missing)}", "correct the module's name"
    hint = (
        f"did you mean {near}?"
        if near
        else "correct the name; the package is installed here"
    )
    return f"{quote(found.module)} has no {quote(found.name)}", hint
