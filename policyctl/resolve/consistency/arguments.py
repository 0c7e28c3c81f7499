"""Arguments that a target does not take, and targets that cannot be hedged.

The target is read statically; where that says nothing (its package is not installed
here, or it takes any keyword) nothing is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.checks.references import nearest, nearest_method, parse_reference
from policyctl.diagnostics import Diagnostic
from policyctl.model.code.parameters import Parameters, lacks_method
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.findings import Subject
from policyctl.source.nodes import NodePath

_ARGUMENT = "argument:"


def check(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Check that the method is there, and argument names against its parameters."""
    yield from _missing_method(subject, context)
    named = list(_named(subject))
    if not named and not subject.tree.has("hedge"):
        return
    target = _target(subject, context)
    if target is None:
        return
    found = context.lookup.parameters_of(*parse_reference(target))
    if found is None or found.open:
        return
    for at, name in named:
        if name not in found.names:
            yield _unknown(subject, at, name, target, found)
    if subject.tree.has("hedge") and not found.is_async:
        yield subject.error(
            "VA129",
            f"hedge is for async functions, but {target} is a plain one",
            ("hedge",),
            help="remove hedge, or write hedge: off",
            related=[subject.related(("target",), "the target")],
        )


def _missing_method(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """A finding where the service's class has no method of the operation's name."""
    if context.target is None or not _is_method(subject):
        return
    module, path = parse_reference(context.target)
    name = subject.path.rpartition(".")[2]
    names = lacks_method(context.lookup.library, module, path, name)
    if names is None:
        return
    yield subject.error(
        "VA136",
        f"{context.target} has no method {name!r}",
        (),
        help=nearest_method(context.target, name, names)
        or "write target: off for an operation that is no method of it",
    )


def _named(subject: Subject) -> Iterator[tuple[NodePath, str]]:
    """Every parameter that the settings name, with its place."""
    tree = subject.tree
    for kind in ("circuit_breaker", "bulkhead"):
        block = tree.block(kind)
        scope: str = "" if block is None else block.get("scope") or ""
        if scope.startswith(_ARGUMENT):
            name = scope.removeprefix(_ARGUMENT).partition(".")[0]
            yield (kind, "scope"), name
    timeout = tree.block("attempt_timeout")
    if timeout is not None and timeout.has("argument"):
        yield ("attempt_timeout", "argument"), timeout.get("argument")
    idempotency = tree.block("idempotency")
    if idempotency is None:
        return
    for index, path in enumerate(idempotency.names("key")):
        yield ("idempotency", "key", index), path.partition(".")[0]
    forward = idempotency.block("forward")
    if forward is not None and forward.has("argument"):
        yield ("idempotency", "forward", "argument"), forward.get("argument")


def _target(subject: Subject, context: Context) -> str | None:
    """The operation's target, or the method of its name in the service's class."""
    own: str | None = subject.tree.get("target")
    if own is not None or context.target is None or not _is_method(subject):
        return own
    return f"{context.target}.{subject.path.rpartition('.')[2]}"


def _is_method(subject: Subject) -> bool:
    """Whether the operation is the method of its name, unless it says otherwise.

    A caller's own settings for it have another path.
    """
    return "target" not in subject.tree.entries and subject.path.count(".") == 2


def _unknown(
    subject: Subject, at: NodePath, name: str, target: str, found: Parameters
) -> Diagnostic:
    near = nearest(name, found.names)
    listed = f"its parameters are {', '.join(found.names)}"
    return subject.error(
        "VA118",
        f"{target} has no parameter {name!r}",
        at,
        help=(
            f"did you mean {near}?"
            if near
            else listed if found.names else "it takes none"
        ),
        related=[subject.related(("target",), "the target")],
    )
