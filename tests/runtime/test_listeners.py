"""Listeners of the event stream: who fails is told of once, and forgotten with them."""

from __future__ import annotations

import logging

import pytest

from policyctl.runtime.events import Event, Stream


def broken(_: Event) -> None:
    """A listener that always fails."""
    raise ValueError("broken")


def failures(caplog: pytest.LogCaptureFixture) -> int:
    """How often a failing listener was told of."""
    return sum("further failures" in record.getMessage() for record in caplog.records)


def test_each_failing_listener_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """However many events there are; the others hear all of them."""
    stream, heard = Stream(), list[str]()
    stream.listen(broken)
    stream.listen(lambda event: heard.append(event.kind))
    with caplog.at_level(logging.ERROR, "policyctl"):
        for _ in range(3):
            stream.emit("retry", "s", "o")
    assert failures(caplog) == 1
    assert heard == ["retry"] * 3


def test_a_listener_that_left_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    """One that comes later, perhaps at the same address, is told of for itself."""
    stream = Stream()
    with caplog.at_level(logging.ERROR, "policyctl"):
        for _ in range(2):
            stop = stream.listen(broken)
            stream.emit("retry", "s", "o")
            stop()
            stop()
    assert failures(caplog) == 2
    assert stream._broken == set()


def test_a_listener_that_listens_twice_leaves_one_by_one() -> None:
    """Each end takes back one of its places."""
    stream, heard = Stream(), list[str]()

    def listener(event: Event) -> None:
        heard.append(event.kind)

    first, second = stream.listen(listener), stream.listen(listener)
    stream.emit("retry", "s", "o")
    first()
    stream.emit("failed", "s", "o")
    second()
    stream.emit("stopped", "s", "o")
    assert heard == ["retry", "retry", "failed"]
