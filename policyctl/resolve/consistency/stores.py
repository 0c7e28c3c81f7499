"""Stores that lack the place they live in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.consistency.shared_queues import file_of
from policyctl.resolve.findings import Subject
from policyctl.source.nodes import NodePath


def check(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Check the stores of an operation's patterns."""
    for block in ("circuit_breaker", "rate_limit", "idempotency"):
        yield from check_store(subject, context.redis_url, (block,))
    yield from check_path(subject, ("idempotency",))


def check_store(
    subject: Subject, redis_url: str | None, path: NodePath
) -> Iterator[Diagnostic]:
    """A redis store needs an address, an sqlite store a file."""
    at = (*path, "store")
    store = _get(subject, at)
    if store == "redis" and redis_url is None:
        yield subject.error(
            "VA123",
            "store: redis has no address to connect to",
            at,
            help="add redis: {url_env: POLICY_REDIS_URL} to the service",
        )
    if store == "sqlite" and _get(subject, (*path, "path")) is None:
        yield subject.error(
            "VA124",
            "store: sqlite has no file",
            at,
            help="add path, for example path: var/policies.db",
        )


def check_path(subject: Subject, path: NodePath) -> Iterator[Diagnostic]:
    """A file belongs to an sqlite store and to no other."""
    at = (*path, "path")
    store = _get(subject, (*path, "store"))
    if _get(subject, at) is not None and store not in ("sqlite", None):
        yield subject.error(
            "VA133",
            f"path is for store: sqlite, but the store is {store}",
            at,
            help="write store: sqlite, or remove path",
            related=[subject.related((*path, "store"), f"store is {store}")],
        )


def check_files(
    operations: Mapping[str, Subject], queues: Mapping[str, Subject]
) -> Iterator[Diagnostic]:
    """Queues and idempotency records need files of their own.

    A damaged file is replaced as a whole, by rules that differ: items are brought over,
    records are given up.
    """
    files: dict[str | None, Subject] = {}
    for queue in queues.values():
        files.setdefault(file_of(queue, ()), queue)
    for subject in operations.values():
        file = file_of(subject, ("idempotency",))
        if file is None or file not in files:
            continue
        queue = files[file]
        name = queue.path.rpartition(".")[2]
        yield subject.error(
            "VA137",
            f"idempotency records are in {file}, the file of queue {name}",
            ("idempotency", "path"),
            help="give one of them another path, for example var/keys.db",
            related=[queue.related(("path",), f"the file of queue {name}")],
        )


def _get(subject: Subject, path: NodePath) -> object:
    node = subject.tree.find(path)
    value: object = getattr(node, "value", None)
    return None if value == "off" else value
