"""What a call does when the system has no thread left for it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import BulkheadFullError, NoThreadError
from policyctl.runtime.policy import Policy
from policyctl.runtime.telemetry.beat import Beat
from policyctl.runtime.threads import started

LIMIT = settings.AttemptTimeout(total=5.0)
BREAKER = settings.CircuitBreaker(failure_threshold=1, record_on=("Exception",))


@pytest.fixture
def exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that starts no thread any more."""

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.usefixtures("exhausted")
def test_the_attempt_is_refused_and_nothing_stays_taken() -> None:
    """An own error with the system's words; slot free, breaker closed, no retry."""
    policy = Policy(
        service="s",
        operation="no_thread",
        attempt_timeout=LIMIT,
        retry=settings.Retry(max_attempts=3, retry_on=("Exception",)),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        circuit_breaker=BREAKER,
    )
    calls: list[int] = []
    for _ in range(3):
        with pytest.raises(NoThreadError) as caught:
            policy.call(calls.append, 1)
    assert str(caught.value) == (
        "s.no_thread: no thread for the attempt beside the 0 that run: "
        "can't start new thread"
    )
    assert isinstance(caught.value, BulkheadFullError)
    assert calls == []
    assert policy.gate.in_use == 0
    assert policy.circuit_breaker.state == "closed"
    assert policy.abandoned == 0


@pytest.mark.usefixtures("exhausted")
@pytest.mark.parametrize("entries", [None, ("bulkhead_full",), ("Exception",)])
def test_the_fallback_answers(entries: tuple[str, ...] | None) -> None:
    """By default, as a full bulkhead, and as an exception."""
    policy = Policy(
        attempt_timeout=LIMIT,
        fallback=settings.FallbackValue(value=7, fallback_on=entries),
    )
    assert policy.call(lambda: 1) == 7


def test_calls_go_on_when_there_are_threads_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread that runs is used meanwhile, and new ones start afterwards."""
    policy = Policy(attempt_timeout=LIMIT)

    def inner() -> int:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", _refuse)
            with pytest.raises(NoThreadError, match="beside the 1 that run"):
                policy.call(lambda: 1)
        return policy.call(lambda: 2)

    assert policy.call(inner) == 2


def _refuse(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_the_error_survives_pickling() -> None:
    """With its numbers and words."""
    error = NoThreadError("s", "a", 3, "can't start new thread")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.running) == (str(error), 3)


def test_other_errors_of_starting_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption stays one, with the slot given back."""

    def interrupt(_thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    policy = Policy(attempt_timeout=LIMIT)
    monkeypatch.setattr(threading.Thread, "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        policy.call(lambda: 1)
    assert policy.gate.in_use == 0


@pytest.mark.usefixtures("exhausted")
def test_threads_beside_calls_start_at_the_next_occasion() -> None:
    """Nothing is remembered as running that is not."""
    assert not started(threading.Thread(target=print))
    beat = Beat()
    for _ in range(2):
        with pytest.raises(RuntimeError):
            beat.every("x", 1.0, lambda: None)
    assert beat._thread is None


def test_at_the_end_of_the_process() -> None:
    """In an exit handler a call works or is refused by a PolicyError."""
    code = """
import atexit
from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyError
from policyctl.runtime.policy import Policy
limit = settings.AttemptTimeout(total=5.0)
policy = Policy(attempt_timeout=limit)
def last():
    try:
        print(policy.call(lambda: "works"))
    except PolicyError as error:
        print("refused", type(error).__name__)
atexit.register(last)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    assert done.stdout in ("works\n", "refused NoThreadError\n")
    assert done.stderr == ""
