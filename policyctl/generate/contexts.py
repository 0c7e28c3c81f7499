"""What each template gets: finished text, in the order of the file.

Every string is a literal, a name or docstring text already, so templates only print.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """One policy object.

    Attributes:
        name: the variable that holds it.
        arguments: the keyword arguments of its constructor, laid out on lines, each
            ending with a comma.
        docstring: the lines below it, with quotes; none without a description.
    """

    name: str
    arguments: tuple[str, ...]
    docstring: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CalleeContext:
    """A called service with this caller's own policies for its operations."""

    name: str
    policies: tuple[PolicyContext, ...]


@dataclass(frozen=True, slots=True)
class QueueContext:
    """One queue object.

    Attributes:
        name: the variable that holds it.
        kind: the class that is called.
        arguments: as those of a policy.
        module: the module of the payload's class; empty for JSON objects.
        payload: the name that stands for the payload's class.
        alias: the class inside its imported module; empty for JSON objects.
    """

    name: str
    kind: str
    arguments: tuple[str, ...]
    module: str
    payload: str
    alias: str


@dataclass(frozen=True, slots=True)
class ClientContext:
    """One class.

    Attributes:
        name: its name.
        decorator: the decorator that guards its members, laid out on lines.
        bases: its bases in parentheses, or nothing.
        docstring: the lines of its docstring, with quotes.
        instance: the type of the client that it is made of; nothing for functions.
        stubs: the lines that tell type checkers its members.
    """

    name: str
    decorator: str
    bases: str
    docstring: tuple[str, ...]
    instance: str
    stubs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """The module of one service.

    Attributes:
        header: the lines of the comment at the top.
        docstring: the lines of the module's docstring, with quotes.
        runtime: the import name of the runtime.
        imports: the modules of the runtime that are used, sorted.
        exports: the assignment of ``__all__``.
        telemetry: lines of the call that switches the service's telemetry on.
        policies: the policies of the service's operations, in the order of the file.
        inbound: the arguments of the service's protection as a server, laid out;
            none without an ``inbound`` block.
        callees: the services that this one calls under settings of its own.
        queues: the queues that the service has code for, in the order of the file.
        payload_types: lines that name their payloads' classes for type checkers.
        payload_names: the same names at run time.
        comments: comments that checkers read.
        client_imports: imports that the clients' types need, for type checkers alone.
        type_variables: assignments of the clients' type variables.
        clients: the typed clients of the service's targets.
    """

    header: tuple[str, ...]
    docstring: tuple[str, ...]
    runtime: str
    imports: tuple[str, ...]
    exports: str
    policies: tuple[PolicyContext, ...]
    inbound: tuple[str, ...]
    callees: tuple[CalleeContext, ...]
    telemetry: tuple[str, ...] = ()
    queues: tuple[QueueContext, ...] = ()
    payload_types: tuple[str, ...] = ()
    payload_names: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    client_imports: tuple[str, ...] = ()
    type_variables: tuple[str, ...] = ()
    clients: tuple[ClientContext, ...] = ()


@dataclass(frozen=True, slots=True)
class PackageContext:
    """``__init__.py`` and ``registry.py``.

    Attributes:
        header: the lines of the comment at the top.
        docstring: the lines of the module's docstring, with quotes.
        runtime: the import name of the runtime.
        exports: the assignment of ``__all__``.
        modules: the modules that it makes available, sorted.
        operations: the assignment of ``policies``, which finds a policy by its name.
    """

    header: tuple[str, ...]
    docstring: tuple[str, ...]
    runtime: str
    exports: str
    modules: tuple[str, ...]
    operations: str
