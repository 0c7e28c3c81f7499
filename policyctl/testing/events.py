"""What guarded calls report, kept for a test to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from policyctl.runtime.events import EVENTS, Event


class EventRecorder:
    """Keeps the events of the runtime while it is entered.

    Args:
        service: keep events of this service alone.
        operation: keep events of this operation alone.
    """

    def __init__(
        self, service: str | None = None, operation: str | None = None
    ) -> None:
        self._service = service
        self._operation = operation
        self._events: list[Event] = []
        self._stop: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        if self._stop is not None:
            raise RuntimeError("this recorder is recording already")
        self._stop = EVENTS.listen(self._keep)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._stop is None:
            raise RuntimeError("this recorder is not recording")
        self._stop()
        self._stop = None

    def _keep(self, event: Event) -> None:
        if self._service in (None, event.service) and self._operation in (
            None,
            event.operation,
        ):
            self._events.append(event)

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events, in order."""
        return [event.kind for event in self._events]

    def of(self, kind: str) -> list[Event]:
        """The events of one kind, in order."""
        return [event for event in self._events if event.kind == kind]

    def clear(self) -> None:
        """Forget what was recorded so far."""
        self._events.clear()

    def __iter__(self) -> Iterator[Event]:
        return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)

    def __repr__(self) -> str:
        return f"EventRecorder({self._events!r})"


def record_events(
    service: str | None = None, operation: str | None = None
) -> EventRecorder:
    """``with record_events("hotel_api") as events:`` and then ``events.kinds``."""
    return EventRecorder(service, operation)
