"""Which operations guard which methods and functions, and why some cannot."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from policyctl.checks.references import nearest_method, parse_reference
from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate.clients.annotations import Annotations
from policyctl.generate.clients.forms import (
    Form,
    form_of,
    needs_word,
    objection,
    suited,
)
from policyctl.generate.clients.imports import Imports
from policyctl.generate.clients.overloads import choose
from policyctl.model.code.callables import (
    ClassTarget,
    Function,
    Property,
    read_class,
    read_function,
    read_method,
)
from policyctl.model.code.files import find_file
from policyctl.model.code.library import Library
from policyctl.model.code.objects import set_when_made
from policyctl.model.code.scope import last_name
from policyctl.model.sources import Found, find_source
from policyctl.resolve.policy import Operation, Service

CONSTRUCTOR = "unguarded"
"""The attribute of a generated client that holds the real one."""


@dataclass(slots=True)
class Client:
    """A class that is generated.

    Attributes:
        reference: the target, ``package.module:Class``.
        target: the class as it was read.
        methods: the guarded methods by name, each with the operation that guards it.
        forms: how the results of methods are used where the object does not show it.
    """

    reference: str
    target: ClassTarget
    methods: dict[str, tuple[Operation, Function]] = field(
        default_factory=dict[str, "tuple[Operation, Function]"]
    )
    forms: dict[str, Form] = field(default_factory=dict[str, Form])

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.reference.rpartition(":")[2].rpartition(".")[2]


@dataclass(slots=True)
class Targets:
    """What the operations of one service guard, and what is wrong."""

    clients: dict[str, Client] = field(default_factory=dict[str, Client])
    functions: dict[str, tuple[Operation, Function]] = field(
        default_factory=dict[str, "tuple[Operation, Function]"]
    )
    forms: dict[str, Form] = field(default_factory=dict[str, Form])
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])


def read_targets(service: Service, library: Library) -> Targets:
    """Read the targets of a service and of its operations."""
    found = Targets()
    for operation in service.operations.values():
        reference, method = _target(service, operation, library)
        if reference is None:
            continue
        if method is None:
            _add_function(found, library, operation, reference)
        else:
            _add_method(found, library, service, operation, (reference, method))
    found.findings += _clashes(service, found)
    return found


def _target(
    service: Service, operation: Operation, library: Library
) -> tuple[str | None, str | None]:
    """The class and the method that an operation guards; a function without a method."""
    own = operation.target
    if own is None:
        off = "target" in operation.origins
        return (None if off else service.target), operation.name
    module, path = parse_reference(own)
    if read_class(library, module, path) is not None:
        return own, operation.name
    owner, _, name = path.rpartition(".")
    return (f"{module}:{owner}", name) if owner else (own, None)


def _add_function(
    found: Targets, library: Library, operation: Operation, reference: str
) -> None:
    module, path = parse_reference(reference)
    function = read_function(library, module, path)
    if function is None:
        found.findings.append(_unreadable(library, operation, None, reference))
        return
    function = suited(library, function, operation.kind)
    form = form_of(library, function, function.overloads[0], operation.kind)
    found.findings += _unsuitable(operation, reference, form)
    found.functions[operation.name] = operation, function
    if needs_word(form):
        found.forms[operation.name] = form


def _add_method(
    found: Targets,
    library: Library,
    service: Service,
    operation: Operation,
    method: tuple[str, str],
) -> None:
    reference, name = method
    client = found.clients.get(reference)
    if client is None:
        module, path = parse_reference(reference)
        target = read_class(library, module, path)
        if target is None:
            finding = _unreadable(library, operation, service, reference)
            if all(f.message != finding.message for f in found.findings):
                found.findings.append(finding)
            return
        client = found.clients[reference] = Client(reference, target)
    function = read_method(library, client.target, name)
    if not isinstance(function, Function):
        is_property = isinstance(function, Property)
        found.findings.append(_no_method(library, client, operation, name, is_property))
        return
    function = suited(library, function, operation.kind)
    node, _ = choose(Annotations(library, Imports(library)), function, client.target)[0]
    form = form_of(library, function, node, operation.kind)
    found.findings += _unsuitable(operation, f"{reference}.{name}", form)
    known = client.methods.get(name)
    if known is not None:
        message = f"{reference}.{name} is guarded by {known[0].name} already"
        found.findings.append(
            _mismatch(operation, message, "let one operation guard it")
        )
        return
    client.methods[name] = operation, function
    if needs_word(form):
        client.forms[name] = form


def _unreadable(
    library: Library, operation: Operation, service: Service | None, reference: str
) -> Diagnostic:
    module, path = parse_reference(reference)
    absent = find_source(module, library.places) is Found.ABSENT
    if absent and not library.has_package(module):
        top = module.partition(".")[0]
        message = f"{top} is not installed here, so {reference} cannot be read"
        hint = "install it beside policyctl, or remove target"
    elif library.module(module) is None and find_file(module, library.places):
        message = f"{module} is no Python of a version up to 3.14"
        hint = "correct its syntax, or install a stub package for it"
    elif library.module(module) is None:
        message = f"{module} has no source or stub that can be read"
        hint = "install a stub package for it, or remove target"
    else:
        what = "class" if service is not None else "function"
        message = f"{module} has no {what} {path!r} in its source or stub"
        hint = "correct the name, or remove target"
    place = operation.origin("target").span or operation.span
    if operation.target is None and service is not None:
        place = service.document.locate(("target",))
    return _finding("GN009", "target-unreadable", message, hint, place, operation.path)


def _no_method(
    library: Library,
    client: Client,
    operation: Operation,
    name: str,
    is_property: bool,
) -> Diagnostic:
    names = [n for n in client.target.lineage.names(library) if n[0] != "_"]
    near = nearest_method(client.reference, name, names)
    if is_property:
        message = f"{client.reference}.{name} is a property, which makes no call"
        return _mismatch(operation, message, "guard the method that makes the call")
    value = _value(library, client, name)
    if value is not None:
        message = f"{client.reference}.{name} {value}"
        return _mismatch(operation, message, "write target: off, and use its .call")
    message = f"{client.reference} has no method {name!r}"
    if not client.target.lineage.complete:
        message = f"{client.reference} has no method {name!r} in its source or stub"
    hint = "write target: off for an operation that is no method of it"
    return _mismatch(operation, message, near or hint)


def _value(library: Library, client: Client, name: str) -> str | None:
    """What a member is that is neither method nor property; None where there is none."""
    lineage = client.target.lineage
    member = lineage.member(library, name)
    made = set_when_made(library, lineage, name) if member is None else None
    if member is None and made is None:
        return None
    nodes = member.binding.nodes if member is not None else [made[0]] if made else []
    maker = getattr(nodes[-1], "value", None) if nodes else None
    if isinstance(maker, ast.Call) and last_name(maker.func):
        return f"is made by {last_name(maker.func)}, which leaves no signature to read"
    if isinstance(maker, ast.Lambda):
        return "is a lambda, which has no types to read"
    return "is a value with no signature to read"


def _unsuitable(
    operation: Operation, reference: str, form: Form
) -> Iterator[Diagnostic]:
    found = objection(form, operation.kind)
    if found is not None:
        yield _mismatch(operation, f"{reference} {found[0]}", found[1])


def _clashes(service: Service, found: Targets) -> Iterator[Diagnostic]:
    names = {**service.operations, **service.queues}
    seen: dict[str, str] = {}
    for reference, client in found.clients.items():
        operations = [operation for operation, _ in client.methods.values()]
        place = operations[0] if operations else next(iter(service.operations.values()))
        other = seen.setdefault(client.name, reference)
        if other != reference:
            message = f"{other} and {reference} would be generated as one class"
            hint = "keep their operations in services of their own"
            yield _collision(place, message, hint)
        if client.name in names:
            message = f"{client.name!r} and the target {reference} would be one name"
            yield _collision(place, message, f"rename {client.name}")
        if CONSTRUCTOR in client.methods:
            message = f"{reference}.{CONSTRUCTOR} has the name of the client's own"
            hint = "write target: off there, and use its .call"
            yield _collision(client.methods[CONSTRUCTOR][0], message, hint)


def _collision(operation: Operation, message: str, hint: str) -> Diagnostic:
    place = operation.origin("target").span or operation.span
    return _finding("GN002", "name-collision", message, hint, place, operation.path)


def _mismatch(operation: Operation, message: str, hint: str) -> Diagnostic:
    place = operation.span
    if operation.target is not None:
        place = operation.origin("target").span or operation.span
    return _finding("GN010", "target-mismatch", message, hint, place, operation.path)


def _finding(
    code: str, name: str, message: str, hint: str, place: Span, path: str
) -> Diagnostic:
    return Diagnostic(
        code, name, Severity.ERROR, message, place, help=hint, policy_path=path
    )
