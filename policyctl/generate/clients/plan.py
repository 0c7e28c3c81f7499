"""What a module says of clients: contexts that the template only prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyctl.diagnostics import Diagnostic
from policyctl.generate import literals
from policyctl.generate.clients.annotations import Annotations
from policyctl.generate.clients.comments import comments
from policyctl.generate.clients.imports import Imports
from policyctl.generate.clients.members import (
    context_kinds,
    context_stubs,
    properties,
    property_stubs,
)
from policyctl.generate.clients.overloads import choose, self_variables
from policyctl.generate.clients.signatures import stub
from policyctl.generate.clients.targets import Client, Targets, read_targets
from policyctl.generate.clients.variables import declare
from policyctl.generate.contexts import ClientContext
from policyctl.generate.digest import content_digest
from policyctl.generate.docstrings import paragraph, quoted
from policyctl.generate.layout import Group, call, lay_out, sequence
from policyctl.model.code.callables import Function
from policyctl.model.code.classes import own_parameters
from policyctl.model.code.library import Library
from policyctl.model.code.names import Context, Key, parameter_kind
from policyctl.resolve.policy import Service

INDENT = "    "
FUNCTIONS = "guarded"
"""The class that holds guarded functions."""


@dataclass(frozen=True, slots=True)
class Clients:
    """All that the targets of one service add to its module.

    Attributes:
        comments: comments that checkers read.
        imports: imports for type checkers alone.
        variables: assignments of type variables.
        classes: the classes, in the order of the operations.
        findings: targets that cannot be generated.
    """

    comments: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    classes: tuple[ClientContext, ...] = ()
    findings: tuple[Diagnostic, ...] = ()

    def digests(self) -> dict[str, str]:
        """A digest of everything that was read, by the class that is generated."""
        head = (*self.imports, *self.variables)
        return {
            found.name: content_digest(
                "\n".join((*head, *_printed(found))).encode("utf-8", "backslashreplace")
            )
            for found in self.classes
        }


NO_CLIENTS = Clients()


def _printed(found: ClientContext) -> tuple[str, ...]:
    return (found.decorator, found.bases, found.instance, *found.stubs)


def plan_clients(service: Service, library: Library) -> Clients:
    """Read the targets of a service and lay out its clients."""
    if service.target is None and all(
        operation.target is None for operation in service.operations.values()
    ):
        return NO_CLIENTS
    targets = read_targets(service, library)
    if targets.findings:
        return Clients(findings=tuple(targets.findings))
    imports = Imports(library, _shadowed(service, targets, library))
    classes = [_client(client, imports, library) for client in targets.clients.values()]
    if targets.functions:
        classes.append(_functions(targets, imports, library))
    lines, variables = imports.lines(), imports.declarations()
    printed = [*lines, *variables, *(line for found in classes for line in found.stubs)]
    return Clients(comments(printed), lines, variables, tuple(classes))


def _shadowed(service: Service, targets: Targets, library: Library) -> frozenset[str]:
    names = {*service.operations, *service.queues, *targets.functions, FUNCTIONS}
    for client in targets.clients.values():
        names |= {client.name, *client.methods}
        names |= {found.name for found in properties(library, client.target)}
    return frozenset(names)


def _client(client: Client, imports: Imports, library: Library) -> ClientContext:
    annotations, bases = _annotations(client, imports, library)
    passed = [
        p for p in properties(library, client.target) if p.name not in client.methods
    ]
    kinds = context_kinds(annotations, client.target)
    stubs: list[str] = []
    for name, (_, function) in client.methods.items():
        stubs += ["", *_method(annotations, client, name, function)]
    for found in passed:
        stubs += ["", *property_stubs(annotations, found)]
    for kind in kinds:
        stubs += ["", *context_stubs(annotations, client.target, kind)]
    options = {
        "statics": [
            name
            for name, (_, function) in client.methods.items()
            if function.binding != "instance"
        ],
        "properties": [found.name for found in passed],
        "contexts": list(kinds),
    }
    methods = Group(
        "",
        "{}",
        tuple(
            (f"{literals.string(name)}: ", operation.name)
            for name, (operation, _) in client.methods.items()
        ),
    )
    arguments = [("methods", methods), *_forms(client.forms), *_options(options)]
    decorator = Group(
        "@_clients.client",
        "()",
        (
            ("", literals.string(client.reference)),
            *call("", arguments).items,
        ),
    )
    return ClientContext(
        name=client.name,
        decorator=lay_out("", decorator),
        bases=bases,
        docstring=_docstring(client),
        instance=literals.string(annotations.instance),
        stubs=tuple(stubs[1:]),
    )


def _docstring(client: Client) -> tuple[str, ...]:
    shown = client.reference.replace(":", ".")
    text = f"{shown}, with each call under the policy of its operation."
    return quoted(paragraph(text, INDENT), INDENT)


def _annotations(
    client: Client, imports: Imports, library: Library
) -> tuple[Annotations, str]:
    """What prints the annotations of a class, and the bases of the wrapper."""
    symbol = client.target.symbol
    assert symbol.home is not None
    context = Context(symbol.home, symbol)
    annotations = Annotations(library, imports)
    own: dict[Key, str] = {}
    arguments: list[str] = []
    for parameter in own_parameters(library, context):
        name = declare(annotations, parameter, context)
        own[parameter.key] = name
        starred = parameter_kind(parameter) == "TypeVarTuple"
        arguments.append(f"*{name}" if starred else name)
    brackets = f"[{', '.join(arguments)}]" if arguments else ""
    annotations.own = own
    annotations.instance = imports.name(symbol) + brackets
    return annotations, f"(_typing.Generic{brackets})" if brackets else ""


def _method(
    annotations: Annotations, client: Client, name: str, function: Function
) -> Iterator[str]:
    for node in function.overloads:
        annotations.selves = self_variables(annotations, function, node)
        if annotations.selves:
            break
    chosen = choose(annotations, function, client.target, client.name)
    form = client.forms.get(name, "plain")
    yield from stub(annotations, function, chosen, name, INDENT * 2, form)


def _functions(targets: Targets, imports: Imports, library: Library) -> ClientContext:
    annotations = Annotations(library, imports)
    stubs: list[str] = []
    pairs: list[tuple[str, Group]] = []
    for name, (operation, function) in targets.functions.items():
        nodes = ((node, None) for node in function.overloads)
        form = targets.forms.get(name, "plain")
        stubs += ["", *stub(annotations, function, [*nodes], name, INDENT * 2, form)]
        pair = [literals.string(operation.target or ""), name]
        pairs.append((f"{literals.string(name)}: ", sequence(pair)))
    decorator = Group(
        "@_clients.functions",
        "()",
        (
            ("", Group("", "{}", tuple(pairs))),
            *call("", _forms(targets.forms)).items,
        ),
    )
    text = "Functions, with each call under the policy of its operation."
    return ClientContext(
        name=FUNCTIONS,
        decorator=lay_out("", decorator),
        bases="",
        docstring=quoted(paragraph(text, INDENT), INDENT),
        instance="",
        stubs=tuple(stubs[1:]),
    )


def _forms(forms: Mapping[str, str]) -> list[tuple[str, Group]]:
    items = [
        (f"{literals.string(name)}: ", literals.string(form))
        for name, form in forms.items()
    ]
    return [("forms", Group("", "{}", tuple(items)))] if items else []


def _options(options: dict[str, list[str]]) -> list[tuple[str, Group]]:
    return [
        (name, sequence([literals.string(value) for value in values]))
        for name, values in options.items()
        if values
    ]
