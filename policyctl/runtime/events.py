"""The stream of events of guarded calls, and who listens to it.

Without a listener nothing is built and nothing is called. Listeners run in the thread
or task that caused the event, outside every lock; what they raise is logged
once for each listener and never reaches the caller.
"""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Listener = Callable[["Event"], object]


class Event:
    """Something that happened to an operation.

    Attributes:
        kind: ``transition``, ``rejected``, ``attempt_failed``, ``retry``, ``stopped``,
            ``failed``, ``fallback``, ``hedge`` or ``abandoned``.
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
    """The listeners of this process, and the transitions of its circuit breakers.

    Attributes:
        listeners: who is told, in order.
        transitions: how many there were by service, operation, old and new state.
    """

    __slots__ = ("_broken", "_lock", "listeners", "transitions")

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self.transitions: dict[tuple[str, str, str, str], int] = {}
        self._broken: set[int] = set()
        self._lock = allocate_lock()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` for each event from now on; the result ends it."""
        with self._lock:
            self.listeners = (*self.listeners, listener)

        def stop() -> None:
            with self._lock:
                kept = list(self.listeners)
                if listener in kept:
                    kept.remove(listener)
                self.listeners = tuple(kept)
                if listener not in kept:  # its address may be another one's next
                    self._broken.discard(id(listener))

        return stop

    def transition(
        self, service: str, operation: str, old: str, new: str, **data: Any
    ) -> None:
        """Count a circuit breaker's change of state, and tell who listens."""
        key = service, operation, old, new
        with self._lock:
            self.transitions[key] = self.transitions.get(key, 0) + 1
        if self.listeners:
            self.emit("transition", service, operation, old=old, new=new, **data)

    def after_fork(self) -> None:
        """In a child process: a fresh lock and no transitions yet."""
        self._lock = allocate_lock()
        self.transitions.clear()

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
        from policyctl.runtime.telemetry.trouble import tell

        name = getattr(listener, "__qualname__", type(listener).__qualname__)
        what = f"listener {name} failed; further failures of it are not shown"
        tell(what, error)


EVENTS = Stream()
"""The event stream of this process."""
