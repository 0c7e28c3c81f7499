"""Where a finding points: from a dotted policy path to spans in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policyctl.diagnostics import Related, Span
from policyctl.resolve.origins import Origins
from policyctl.resolve.policy import Call, Operation, Origin, Queue, Service
from policyctl.source.nodes import Document, NodePath


@dataclass(frozen=True, slots=True)
class Place:
    """Something with settings: a service, an operation, an override, a queue.

    Attributes:
        path: dotted policy path, beginning with the service that declares it.
        title: how messages call it, for example ``payment_api.charge``.
        span: its key in the document.
        document: the document that declares it.
        origins: where its values come from, by dotted path below ``path``.
        borrowed: whether all values are declared elsewhere, at the callee.
    """

    path: str
    title: str
    span: Span
    document: Document
    origins: Mapping[str, Origin]
    borrowed: bool = False

    @property
    def service(self) -> str:
        """The name of the service that declares it."""
        return self.path.partition(".")[0]

    def join(self, at: str) -> str:
        """The dotted policy path of ``at`` below this place."""
        return f"{self.path}.{at}" if at else self.path

    def origin(self, at: str) -> Origin | None:
        """Where the value at ``at`` comes from; None where nobody wrote one."""
        for path in _upwards(at):
            found = self.origins.get(path)
            if found is not None:
                return found
        return None

    def stated(self, at: str) -> bool:
        """Whether a file, not a built-in default, gives the value at ``at``."""
        origins = self.origins
        if isinstance(origins, Origins):
            return origins.stated(at)
        origin = origins.get(at)
        return origin is not None and origin.kind != "default"

    def span_of(self, at: str) -> Span:
        """The span that decides ``at``: its value, or the nearest key above it."""
        for path in _upwards(at):
            origin = self.origins.get(path)
            if origin is not None and origin.span is not None:
                return origin.span
            written = self._written(path)
            if written is not None:
                return written
        return self.span

    def _node_path(self, at: str) -> NodePath:
        parts = (*self.path.split(".")[1:], *at.split("."))
        return tuple(int(part) if part.isdigit() else part for part in parts)

    def _written(self, at: str) -> Span | None:
        """The span of ``at`` in the document itself, if it is written there."""
        path = self._node_path(at)
        if sum(1 for _ in self.document.walk(path)) < len(path):
            return None
        return self.document.locate(path)

    def locate(self, at: str) -> tuple[Span, tuple[Related, ...]]:
        """The primary span for a finding about ``at`` and where it is inherited from.

        A value of another file (a preset) is shown as a related place, since the
        reader can only act where the preset is used; a value of the same file, such
        as one under ``defaults``, is the primary place itself.
        """
        span = self.span_of(at)
        if self.borrowed:
            return self.span, (Related(span, f"{at} of the callee"),) if at else ()
        if not self._holds(span):
            origin = self.origin(at)
            label = "elsewhere" if origin is None else origin.label
            return self.span, (Related(span, f"{at} comes from {label}"),)
        if self._is_inherited(at):
            return span, (Related(self.span, f"applies to {self.title}"),)
        return span, ()

    def _holds(self, span: Span) -> bool:
        """Whether a span lies in the document that declares this place."""
        here = self.document.start <= span.start < self.document.end
        return span.path == self.span.path and (here or self.document.end == 0)

    def _is_inherited(self, at: str) -> bool:
        origin = self.origins.get(at)
        if origin is None or origin.span is None:
            return False
        path = self._node_path(at)
        own = (self.document.locate(path), self.document.locate_key(path))
        return origin.span.start not in (own[0].start, own[1].start)


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]


def of_operation(operation: Operation) -> Place:
    """The place of an operation."""
    return Place(
        operation.path,
        operation.id,
        operation.span,
        operation.document,
        operation.origins,
    )


def of_override(call: Call, policy: Operation, service: Service) -> Place:
    """The place of the settings that ``service`` uses for one of its calls."""
    title = f"the call from {service.name} to {call.to}"
    return Place(policy.path, title, call.span, service.document, policy.origins)


def of_call(call: Call, callee: Operation, service: Service) -> Place:
    """The place of one entry of a ``calls`` list, with the callee's settings."""
    title = f"the call from {service.name} to {call.to}"
    return Place(call.path, title, call.span, service.document, callee.origins, True)


def of_queue(queue: Queue, service: Service) -> Place:
    """The place of a queue."""
    title = f"queue {queue.service}.{queue.name}"
    return Place(queue.path, title, queue.span, service.document, queue.origins)


def of_service(service: Service) -> Place:
    """The place of a service document."""
    return Place(
        service.name, service.name, service.span, service.document, service.origins
    )
