"""Places that queues, and records beside them, of several services have in common.

Two services may share a queue: one puts and the other takes. Then they have to agree on what
is decided where items lie, whoever decides it. What each side does for itself (leases, delays
of redelivery, workers, the class of a payload) may differ.

A file is a matter of one machine and one folder, which nobody knows here: of services that run
apart nothing is shared. So files of several services give warnings, keys of Redis errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import normpath

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.resolve.findings import Subject, finding
from policyctl.resolve.tree import Block, Node, plain
from policyctl.source.nodes import NodePath

AGREED = (
    "max_size",
    "max_bytes",
    "max_age",
    "warn_at",
    "overflow",
    "max_deliveries",
    "dead_letter",
    "order_by",
    "codec",
)
Named = tuple[str, Subject, str | None]
"""A service's name, one of its queues or operations, and the service's Redis."""
Concerned = tuple[Diagnostic, frozenset[str]]


def check(queues: Iterable[Named], operations: Iterable[Named]) -> Iterator[Concerned]:
    """Find queues that are one but differ, and records in the file of a queue elsewhere.

    Each finding comes with the names of the services that it concerns.
    """
    first: dict[tuple[str, ...], tuple[str, Subject]] = {}
    files: dict[str, list[tuple[str, Subject]]] = {}
    for service, subject, redis_url in queues:
        file = file_of(subject, ())
        if file is not None:
            files.setdefault(file, []).append((service, subject))
        place = _place(subject, file, redis_url)
        if place is None:
            continue
        other, same = first.setdefault(place, (service, subject))
        difference = None if same is subject else _difference(same, subject)
        if difference is not None:
            clash = _clash(difference, same, subject, place)
            yield clash, frozenset({service, other})
    for service, subject, _ in operations:
        file = file_of(subject, ("idempotency",))
        for owner, queue in files.get(file or "", ()):
            if owner != service:
                yield _two_kinds(subject, queue, file), frozenset({service, owner})
                break


def file_of(subject: Subject, path: NodePath) -> str | None:
    """The file of a queue, or of an operation's records; None without one."""
    file = _value(subject, (*path, "path"))
    local = _value(subject, (*path, "store")) == "sqlite"
    return normpath(str(file)) if local and file is not None else None


def _place(
    subject: Subject, file: str | None, redis_url: str | None
) -> tuple[str, ...] | None:
    """What two queues have in common that are one."""
    if file is not None:
        return "file", file, subject.path.rpartition(".")[2]
    key = _value(subject, ("key",))
    url = _value(subject, ("url_env",)) or redis_url
    if _value(subject, ("store",)) != "redis" or key is None or url is None:
        return None
    return "key", str(key), str(url)


def _difference(one: Subject, other: Subject) -> NodePath | None:
    for key in AGREED:
        left, right = one.tree.find((key,)), other.tree.find((key,))
        if key == "codec":  # other names may be the same codec in another package
            alike = (_plain(left) == "json") == (_plain(right) == "json")
        else:
            alike = _plain(left) == _plain(right)
        if not alike:
            both = isinstance(left, Block) and isinstance(right, Block)
            return (key, "max_size") if both else (key,)
    return None


def _plain(node: Node | None) -> object:
    """A setting as plain data; a key that is off is one that is not there."""
    value = None if node is None else plain(node)
    return None if value == "off" else value


def _clash(
    at: NodePath, first: Subject, second: Subject, place: tuple[str, ...]
) -> Diagnostic:
    key, kind, where = ".".join(map(str, at)), *place[:2]
    elsewhere = "path" if kind == "file" else "key"
    here = "both run in one folder" if kind == "file" else "both use one server"
    return finding(
        "VA139",
        f"{key} differs from {first.path}, which is the same queue if {here}: "
        f"{elsewhere} {where}",
        second.place(at),
        help=f"give both the same {key}, or one of them another {elsewhere}",
        related=[
            first.related(at, f"{key} of {first.path}{first.builtin(at)}"),
            second.related((elsewhere,), f"{elsewhere} of {second.path}"),
        ],
        path=".".join((second.path, *map(str, at))),
        severity=Severity.WARNING if kind == "file" else Severity.ERROR,
    )


def _two_kinds(subject: Subject, queue: Subject, file: str | None) -> Diagnostic:
    at = ("idempotency", "path")
    return finding(
        "VA137",
        f"idempotency records are in {file}, the file of {queue.path} if both services "
        "run in one folder",
        subject.place(at),
        help="give one of them another path, for example var/keys.db",
        related=[queue.related(("path",), f"the file of {queue.path}")],
        path=".".join((subject.path, *at)),
        severity=Severity.WARNING,
    )


def _value(subject: Subject, path: NodePath) -> object:
    node = subject.tree.find(path)
    value: object = getattr(node, "value", None)
    return None if value == "off" else value
