"""Check and build what leads from one service to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from policyctl.diagnostics import Diagnostic, Span
from policyctl.resolve.build import build_operation
from policyctl.resolve.collect import Broken
from policyctl.resolve.defaults import fill_operation
from policyctl.resolve.edges import Edge
from policyctl.resolve.findings import Subject
from policyctl.resolve.judge import Judged, check_operation
from policyctl.resolve.merge import merge
from policyctl.resolve.policy import Call
from policyctl.resolve.references import References, unreadable

# Names of a long circle that a finding shows.
_SHOWN = 8


class Links:
    """The references between all services of a run."""

    def __init__(self, judged: Mapping[str, Judged], references: References):
        self._judged = judged
        self._references = references
        # By the identity of the edge: all edges live as long as this object.
        self._overrides: dict[int, Subject] = {}

    def check(self, judged: Judged) -> Iterator[Diagnostic]:
        """Check every reference that one service makes."""
        for edge in _all_edges(judged):
            found = self._references.check(edge.to, partial(_span, edge), edge.path)
            if found is not None:
                yield found
            elif edge.override is not None:
                yield from self._check_override(edge)
        for subject in judged.operations.values():
            yield from self._check_name(subject, ("fallback", "operation"))
        for subject in judged.queues.values():
            for worker in ("consume", "upload"):
                yield from self._check_name(subject, (worker, "operation"))

    def _check_name(
        self, subject: Subject, at: tuple[str, str]
    ) -> Iterator[Diagnostic]:
        block = subject.tree.block(at[0])
        target = None if block is None else block.get(at[1])
        if target is None:
            return
        path = ".".join((subject.path, *at))
        found = self._references.check(target, partial(subject.place, at), path)
        if found is not None:
            yield found
        else:
            yield from self._check_kind(subject, at, target)

    def _check_kind(
        self, subject: Subject, at: tuple[str, str], target: str
    ) -> Iterator[Diagnostic]:
        """A fallback answers like its operation; a worker's operation answers once."""
        other = self._find(target)
        if other is None:
            return
        wanted = subject.tree.get("kind") if at[0] == "fallback" else None
        kinds = [kind or "unary" for kind in (wanted, other.tree.get("kind"))]
        if kinds[0] == kinds[1]:
            return
        yield subject.error(
            "VA135",
            f"{target} is of kind {kinds[1]}, where {kinds[0]} is wanted",
            at,
            help=f"name an operation of kind {kinds[0]}",
            related=[other.related(("kind",), f"{target} is {kinds[1]}")],
        )

    def cycles(self) -> Iterator[tuple[str, Diagnostic]]:
        """Find fallbacks that lead in a circle: each circle once, with its service.

        Every operation has at most one fallback, so one walk over all of them will do.
        """
        walked: set[str] = set()
        for service, judged in self._judged.items():
            for operation in judged.operations:
                trail: dict[str, None] = {}
                name: str | None = f"{service}.{operation}"
                while name is not None and name not in walked:
                    walked.add(name)
                    trail[name] = None
                    name = self._fallback(name)
                if name in trail:
                    names = list(trail)
                    yield service, self._cycle(names[names.index(str(name)) :])

    def _cycle(self, names: list[str]) -> Diagnostic:
        at = ("fallback", "operation")
        subjects = [found for found in map(self._find, names) if found is not None]
        shown = [*names, names[0]]
        if len(shown) > _SHOWN:
            shown = [*shown[: _SHOWN - 2], "…", names[0]]
        return subjects[0].error(
            "VA126",
            f"fallbacks lead back to their start: {' -> '.join(shown)}",
            at,
            help="end the chain with a value or a call, or remove this fallback",
            related=[
                other.related(at, "and on from here")
                for other in subjects[1 : _SHOWN - 2]
            ],
        )

    def _fallback(self, name: str) -> str | None:
        subject = self._find(name)
        block = None if subject is None else subject.tree.block("fallback")
        target: str | None = None if block is None else block.get("operation")
        return target

    def _find(self, name: str) -> Subject | None:
        service, _, operation = name.partition(".")
        judged = self._judged.get(service)
        return None if judged is None else judged.operations.get(operation)

    def _check_override(self, edge: Edge) -> Iterator[Diagnostic]:
        service = edge.to.partition(".")[0]
        callee = self._judged.get(service)
        if callee is None:
            return
        subject = self._overridden(edge, callee)
        if callee.valid and subject is not None:
            yield from check_operation(subject, callee.context)
        elif callee.findings and not callee.merged.declared.reported:
            broken = Broken(service, tuple(callee.findings), False)
            yield unreadable(edge.to, broken, edge.span, edge.path)

    def _overridden(self, edge: Edge, callee: Judged) -> Subject | None:
        """The callee's operation with the caller's own settings on top."""
        known = self._overrides.get(id(edge))
        base = callee.merged.operations.get(edge.to.partition(".")[2])
        if known is not None or base is None or edge.override is None:
            return known
        tree = fill_operation(merge(base, edge.override))
        subject = Subject(f"{edge.path}.override", edge.span, tree)
        self._overrides[id(edge)] = subject
        return subject

    def call(self, edge: Edge) -> Call:
        """Build one edge, with the caller's own policy where it has an override."""
        service, _, name = edge.to.partition(".")
        callee = self._judged.get(service)
        policy = None
        if callee is not None and callee.valid:
            subject = self._overridden(edge, callee)
            if subject is not None:
                policy = build_operation(
                    subject.tree,
                    service=service,
                    name=name,
                    path=subject.path,
                    span=edge.span,
                    document=callee.merged.document,
                    redis_url=callee.context.redis_url,
                )
        return Call(
            to=edge.to,
            service=service,
            operation=name,
            per_request=edge.per_request,
            mode=edge.mode,
            policy=policy,
            path=edge.path,
            span=edge.span,
        )


def _span(edge: Edge) -> Span:
    return edge.span


def _all_edges(judged: Judged) -> Iterator[Edge]:
    yield from judged.calls
    for edges in judged.operation_calls.values():
        yield from edges
