"""Environment variables that would override two limits at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from policyctl.checks.limits import LIMITS, override_name
from policyctl.diagnostics import Diagnostic
from policyctl.resolve.findings import Subject
from policyctl.resolve.tree import DEFAULT, Node, walk
from policyctl.source.nodes import NodePath

# An operation, queue or inbound block: its service, its own name, its settings.
Owner = tuple[str, str, Subject]


def check(owners: Iterable[Owner]) -> Iterator[tuple[Diagnostic, frozenset[str]]]:
    """Find limits of different owners that share one environment variable.

    Two owners give one finding, however many limits they have in common. Each finding comes with the names of the services that it concerns.

    Two variables are equal only where one owner's prefix begins the other's, so all
    names are spelled out for such owners alone.
    """
    seen: dict[str, tuple[str, Subject, NodePath]] = {}
    pairs: set[tuple[str, str]] = set()
    for service, name, subject in _suspects(owners):
        stated_first = sorted(walk(subject.tree), key=lambda item: _built_in(item[1]))
        for path, _node in stated_first:
            dotted = ".".join(map(str, path))
            limit = LIMITS.get(dotted)
            if limit is None or not limit.override:
                continue
            variable = override_name(service, name, dotted)
            first = seen.setdefault(variable, (service, subject, path))
            pair = (first[1].path, subject.path)
            if first[1] is not subject and pair not in pairs:
                pairs.add(pair)
                clash = _clash(variable, first[1:], (subject, path))
                yield clash, frozenset({service, first[0]})


def _built_in(node: Node) -> bool:
    return node.layer is DEFAULT


def _suspects(owners: Iterable[Owner]) -> list[Owner]:
    prefixed = [(f"{owner[0]}_{owner[1]}_".upper(), owner) for owner in owners]
    prefixed.sort(key=lambda pair: pair[0])
    found: dict[int, Owner] = {}
    opening = ""
    for (one, first), (two, second) in pairwise(prefixed):
        opening = opening if opening and one.startswith(opening) else one
        if two.startswith(opening):
            found[id(first[2])] = first
            found[id(second[2])] = second
    return list(found.values())


def _clash(
    variable: str, first: tuple[Subject, NodePath], second: tuple[Subject, NodePath]
) -> Diagnostic:
    subject, path = second
    other, other_path = first
    shown = ".".join((other.path, *map(str, other_path)))
    return subject.error(
        "VA122",
        f"environment variable {variable} would override this and {shown}",
        path,
        help="rename one of the two operations, queues or services",
        related=[other.related(other_path, "the other limit")],
    )
