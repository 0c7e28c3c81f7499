"""The stream of events of guarded calls, and who listens to it.

Without a listener nothing is built and nothing is called. Listeners run in the thread
or task that caused the event, outside every lock; what they raise is logged
once for each listener and never reaches the caller.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Listener = Callable[["Event"], object]


class Event:
    """Something that happened to an operation.

    Attributes:
        kind: ``transition``, ``rejected``, ``attempt_failed``, ``retry``, ``stopped``,
            ``fallback`` or ``abandoned``.
        service: whose policy.
        operation: which of its operations.
        data: what is to say about this kind, for example ``old`` and ``new`` of a
            transition, or ``attempt``, ``delay`` and ``error`` of a retry.
    """

    __slots__ = ("data", "kind", "operation", "service")

    def __init__(
        self, kind: str, service: str, operation: str, data: dict[str, Any]
    ) -> None:
        self.kind = kind
        self.service = service
        self.operation = operation
        self.data = data

    def __repr__(self) -> str:
        data = "".join(f", {key}={value!r}" for key, value in self.data.items())
        return f"Event({self.kind!r}, {self.service}.{self.operation}{data})"


class Stream:
    """The listeners of this process."""

    __slots__ = ("_broken", "listeners")

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self._broken: set[int] = set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` for each event from now on; the result ends it."""
        self.listeners = (*self.listeners, listener)

        def stop() -> None:
            kept = list(self.listeners)
            if listener in kept:
                kept.remove(listener)
            self.listeners = tuple(kept)

        return stop

    def emit(self, kind: str, service: str, operation: str, **data: Any) -> None:
        """Tell every listener; callers ask ``listeners`` first to save the work."""
        event = Event(kind, service, operation, data)
        for listener in self.listeners:
            try:
                listener(event)
            except Exception as error:
                self._report(listener, error)

    def _report(self, listener: Listener, error: Exception) -> None:
        if id(listener) in self._broken:
            return
        self._broken.add(id(listener))
        import logging

        logging.getLogger("policyctl").error(
            "listener %r failed; further failures of it are not shown: %r",
            listener,
            error,
            exc_info=error,
        )


EVENTS = Stream()
"""The event stream of this process."""
