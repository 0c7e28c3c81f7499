"""The event recorder."""

from __future__ import annotations

import pytest

from policyctl.runtime.events import EVENTS
from policyctl.testing import EventRecorder, record_events


def test_events_are_kept_in_order_while_recording() -> None:
    """Only what happens inside the scope is kept; kinds and data can be asked for."""
    EVENTS.emit("retry", "a", "b")
    with record_events() as events:
        EVENTS.emit("transition", "a", "b", old="closed", new="open")
        EVENTS.emit("rejected", "c", "d")
    EVENTS.emit("retry", "a", "b")
    assert events.kinds == ["transition", "rejected"]
    assert len(events) == 2
    assert [event.data["new"] for event in events.of("transition")] == ["open"]
    assert [event.service for event in events] == ["a", "c"]


def test_events_can_be_kept_for_one_operation() -> None:
    """A recorder for a service or an operation leaves the others out."""
    with record_events("a", "b") as one, record_events("a") as service:
        for name in ("b", "c"):
            EVENTS.emit("retry", "a", name)
            EVENTS.emit("retry", "z", name)
    assert [(e.service, e.operation) for e in one] == [("a", "b")]
    assert [(e.service, e.operation) for e in service] == [("a", "b"), ("a", "c")]


def test_recording_can_be_cleared_and_repeated() -> None:
    """clear() forgets, and a recorder may be entered again but not twice at once."""
    recorder = EventRecorder()
    with recorder:
        EVENTS.emit("retry", "a", "b")
        recorder.clear()
        with pytest.raises(RuntimeError, match="already"):
            recorder.__enter__()
    assert recorder.kinds == []
    with recorder:
        EVENTS.emit("fallback", "a", "b")
    assert recorder.kinds == ["fallback"]
    with pytest.raises(RuntimeError, match="not recording"):
        recorder.__exit__(None, None, None)
