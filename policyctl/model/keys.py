"""Unknown keys: misspelt, misplaced, or the words of another system."""

from __future__ import annotations

import re
from functools import cache

from policyctl.checks.references import nearest
from policyctl.diagnostics import Diagnostic, Edit, Fix
from policyctl.model.codes import finding
from policyctl.model.foreign import foreign
from policyctl.model.operation import Operation
from policyctl.model.place import dotted
from policyctl.model.queues import Queue
from policyctl.model.service import Ignore, PresetModel, ServiceModel
from policyctl.model.shape import Shape, shape_of
from policyctl.source.nodes import Document, Entry, MappingNode, NodePath, PathPart
from policyctl.units import quote

_NAMED = {"operations": "operation", "queues": "queue", "environments": "environment"}


def unknown_key(
    document: Document, entry: Entry, shape: Shape, path: NodePath
) -> Diagnostic:
    """The finding for a key that its block does not have."""
    name = str(path[-1])
    block = _block_name(path)
    where = _where(shape, path)
    span = document.span(entry.key)
    policy_path = dotted(document, path)
    message = f"unknown key {quote(name)} in {where}"
    snake = _snake(name)
    if snake in shape.keys:
        return _misspelt(document, entry, snake, message, path)
    hint = foreign(name, block, exact=name in key_places())
    if hint is not None:
        return finding("foreign-key", span, message, hint, policy_path=policy_path)
    if snake != name and snake in key_places() and not nearest(name, shape.keys, 0.8):
        name = snake
    owners = key_places().get(name)
    if owners:
        hint = f"{name} belongs {_join(owners)}"
        return finding("misplaced-key", span, message, hint, policy_path=policy_path)
    near = nearest(name, shape.keys, 0.65)
    if near is not None:
        return _misspelt(document, entry, near, message, path)
    return finding("unknown-key", span, message, _known(shape), policy_path=policy_path)


def _misspelt(
    document: Document, entry: Entry, right: str, message: str, path: NodePath
) -> Diagnostic:
    span = document.span(entry.key)
    policy_path = dotted(document, path)
    *_, (_part, _key, block) = ((None, None, document.root), *document.walk(path[:-1]))
    if isinstance(block, MappingNode) and right in block.entries:
        hint = f"remove it: {right} is there already"
        return finding("unknown-key", span, message, hint, policy_path=policy_path)
    fix = Fix(f"rename it to {right}", (Edit(span, right),), safe=False)
    hint = f"did you mean {right}?"
    return finding("unknown-key", span, message, hint, policy_path=policy_path, fix=fix)


def _known(shape: Shape) -> str:
    names = sorted(shape.keys)
    if len(names) > 12:
        return "remove it, or write x- before it to keep it as a note"
    return f"known keys are {', '.join(names)}"


def _snake(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name[:100])
    return re.sub(r"[^A-Za-z0-9]+", "_", words).lower()


def _block_name(path: NodePath) -> str:
    """What ``foreign`` calls the block of a key; ``path`` is the key's."""
    kind, block = ("", "", *path[:-1])[-2:]
    if kind == "retry" and block == "budget":
        return "retry_budget"
    return _NAMED.get(str(kind), str(block)) or "top"


def _where(shape: Shape, path: NodePath) -> str:
    """The block of a key in words; ``path`` is the key's."""
    full: tuple[PathPart, ...] = ("", "", *path[:-1])
    kind, block = full[-2], full[-1]
    if block == "":
        return "a preset" if shape.model is PresetModel else "a service document"
    if isinstance(block, int):
        return f"entry {block + 1} of {kind}"
    named = _NAMED.get(str(kind))
    shown = block if len(block) <= 40 and block.isprintable() else quote(block)
    return f"{named} {shown}" if named else shown


def _join(places: tuple[str, ...]) -> str:
    return ", or ".join(places[:3])


@cache
def key_places() -> dict[str, tuple[str, ...]]:
    """Every key of the language with the places that have it."""
    found: dict[str, list[str]] = {}
    operation = shape_of(Operation)
    for name in operation.keys:
        places = ["in an operation"]
        if name in shape_of(ServiceModel).keys["defaults"].keys:
            places = ["under defaults", "in an operation"]
        found.setdefault(name, []).extend(places)
    _collect(found, operation, ())
    for name in shape_of(ServiceModel).keys:
        places = found.setdefault(name, [])
        places.insert(0, "at the top of a service document")
    _collect(
        found, shape_of(ServiceModel), (), skip=frozenset({"defaults", "operations"})
    )
    for name in shape_of(Queue).keys:
        found.setdefault(name, []).append("in a queue")
    _collect(found, shape_of(Queue), ())
    for name in shape_of(Ignore).keys:
        found.setdefault(name, []).append("in an entry of ignore")
    return {name: tuple(dict.fromkeys(places)) for name, places in found.items()}


def _collect(
    found: dict[str, list[str]],
    shape: Shape,
    path: tuple[str, ...],
    skip: frozenset[str] = frozenset(),
) -> None:
    for name, child in shape.keys.items():
        if child.kind != "block" or name in skip:
            continue
        below = (*path, name)
        for key in child.keys:
            found.setdefault(key, []).append(f"under {'.'.join(below)}")
        _collect(found, child, below)
