"""The one thread of telemetry."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from policyctl.runtime.telemetry import trouble
from policyctl.runtime.telemetry.beat import BEAT, NAME, Beat


@pytest.fixture
def beat() -> Iterator[Beat]:
    """A beat whose thread ends with the test."""
    found = Beat()
    yield found
    found.stop()
    trouble.forget()


def test_tasks_are_done_when_they_are_due(beat: Beat) -> None:
    """At once, then at their own intervals; what was missed is not made up for."""
    done: list[str] = []
    beat._thread = threading.current_thread()  # the test turns the wheel itself
    beat.every("a", 10.0, lambda: done.append("a"))
    beat.every("b", 4.0, lambda: done.append("b"))
    beat.every("b", 1.0, lambda: done.append("never"))
    nexts = [beat.work(now) for now in (100.0, 103.9, 104.0, 120.0)]
    beat._thread = None
    assert done == ["a", "b", "b", "a", "b"]
    assert nexts == [104.0, 104.0, 108.0, 124.0]


def test_a_task_that_fails(beat: Beat, caplog: pytest.LogCaptureFixture) -> None:
    """It is reported once and goes on being done; others are done all the same."""
    done: list[int] = []

    def fail() -> None:
        raise OSError("disk full")

    beat._thread = threading.current_thread()
    beat.every("writing", 1.0, fail)
    beat.every("counting", 1.0, lambda: done.append(1))
    for now in (1.0, 2.0, 3.0):
        beat.work(now)
    beat._thread = None
    assert done == [1, 1, 1]
    assert caplog.text.count("writing failed") == 1


def test_one_daemon_thread(beat: Beat) -> None:
    """Tasks share a daemon, which ends when it is told to."""
    first, second = threading.Event(), threading.Event()
    beat.every("first", 3600.0, first.set)
    beat.every("second", 3600.0, second.set)
    assert first.wait(60)
    assert second.wait(60)
    threads = [thread for thread in threading.enumerate() if thread is beat._thread]
    assert [(thread.name, thread.daemon) for thread in threads] == [(NAME, True)]
    beat.stop()
    assert not threads[0].is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_starts_its_own() -> None:
    """After a fork there is no thread and no task, and the child can have them anew."""
    done = threading.Event()
    BEAT.every("parent", 3600.0, done.set)
    assert done.wait(60)
    child = os.fork()
    if child == 0:
        code = 1
        if BEAT._thread is None and not BEAT._tasks:
            again = threading.Event()
            BEAT.every("parent", 3600.0, again.set)
            code = 0 if again.wait(60) else 2
        os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    BEAT.stop()
    assert status == 0
