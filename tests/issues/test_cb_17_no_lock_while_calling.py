"""CB-17, CB-18: no lock is held during calls, and no count is lost."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from policyctl.runtime import settings
from policyctl.runtime.events import EVENTS, Event
from policyctl.runtime.policy import Policy


def make(**changes: int) -> Policy:
    """A breaker that does not open."""
    return Policy(
        circuit_breaker=settings.CircuitBreaker(
            **{"failure_threshold": 1_000_000, **changes}  # type: ignore[arg-type]
        )
    )


def test_threads_are_inside_at_once() -> None:
    """Twenty threads meet at a barrier inside the guarded function."""
    meeting, policy = threading.Barrier(20, timeout=60), make()

    @policy
    def call() -> None:
        meeting.wait(60)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not meeting.broken


def test_no_failure_is_lost_between_threads() -> None:
    """C10: 64 threads with 500 failures each count 32,000."""
    policy = make()

    @policy
    def call() -> None:
        raise TimeoutError

    def work() -> None:
        for _ in range(500):
            try:
                call()
            except TimeoutError:
                continue

    threads = [threading.Thread(target=work, daemon=True) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert policy.circuit_breaker.failures == 32_000
    assert policy.statistics()["in_use"] == 0


async def test_no_failure_is_lost_between_tasks() -> None:
    """A hundred interleaved tasks count exactly."""
    policy = make()

    @policy
    async def call() -> None:
        await asyncio.sleep(0)
        raise TimeoutError

    for _ in range(5):
        await asyncio.gather(*(call() for _ in range(100)), return_exceptions=True)
    assert policy.circuit_breaker.failures == 500


async def test_a_listener_may_call_the_breaker_again() -> None:
    """C9: a slow, failing, re-entrant listener harms neither caller nor state."""
    policy = make(failure_threshold=2)
    seen: list[str] = []

    @policy
    async def call() -> None:
        raise TimeoutError

    def listener(event: Event) -> None:
        if event.kind == "transition":
            seen.append(f"{event.data['old']} {policy.circuit_breaker.state}")
            policy.statistics()
            raise ValueError("broken listener")

    stop = EVENTS.listen(listener)
    try:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await call()
    finally:
        stop()
    assert seen == ["closed open"]


def test_a_listener_may_wait_for_another_thread() -> None:
    """C10: no lock at all is held meanwhile, not one that its owner may take again."""
    policy, other = make(failure_threshold=1), make(failure_threshold=1)
    seen: list[str] = []
    ended: list[bool] = []

    def fail() -> None:
        raise TimeoutError

    def use() -> None:
        seen.append(policy.circuit_breaker.state)
        policy.circuit_breaker.force_closed()
        seen.append(policy.call(lambda: "works"))
        with pytest.raises(TimeoutError):
            other.call(fail)
        EVENTS.listen(id)()
        seen.append(other.circuit_breaker.state)

    def listener(event: Event) -> None:
        if event.kind == "transition" and not seen:
            thread = threading.Thread(target=use, daemon=True)
            thread.start()
            thread.join(10)
            ended.append(not thread.is_alive())

    stop = EVENTS.listen(listener)
    try:
        with pytest.raises(TimeoutError):
            policy.call(fail)
    finally:
        stop()
    assert ended == [True]
    assert seen == ["open", "works", "open"]


async def test_the_loop_is_not_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in an async call sleeps blockingly."""

    def fail(_: float) -> None:
        raise AssertionError("a blocking sleep on the event loop")

    monkeypatch.setattr(time, "sleep", fail)
    policy = Policy(
        retry=settings.Retry(
            retry_on=("timeout",), backoff=settings.Backoff(initial=0.001, max=0.001)
        ),
        circuit_breaker=settings.CircuitBreaker(),
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=50, max_wait=5.0),
    )
    tries = 0

    @policy
    async def call() -> int:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0)
        if tries % 2:
            raise TimeoutError
        return 1

    assert sum(await asyncio.gather(*(call() for _ in range(20)))) == 20
