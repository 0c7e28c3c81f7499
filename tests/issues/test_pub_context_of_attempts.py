"""Context variables over threads and tasks: smolagents #1961, structlog #491, loguru #792.

A time limit moved the call to a worker thread: it no longer saw the caller's trace, and
what it bound for later log lines was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from threading import Event

import pytest

from policyctl.runtime.budget import budget, remaining_budget
from policyctl.runtime.errors import AttemptTimeoutError
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATIONS = """
limited:
  attempt_timeout: 60s
short:
  attempt_timeout: 20ms
hedged:
  idempotent: true
  transport: http
  hedge: {delay: 10ms}
"""
trace: ContextVar[str] = ContextVar("trace", default="none")


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    """No test leaves its trace to the next."""
    token = trace.set("outer")
    yield
    trace.reset(token)


def test_a_call_in_a_thread_shares_its_callers_context(generated: Generated) -> None:
    """It sees what is set, and what it sets is set afterwards, also if it fails."""

    @generated(OPERATIONS)["limited"]
    def bind(name: str, works: bool) -> str:
        before = trace.get()
        trace.set(name)
        if not works:
            raise KeyError(name)
        return before

    with budget(300.0):
        assert bind("first", True) == "outer"
        assert trace.get() == "first"
        with pytest.raises(KeyError):
            bind("second", False)
        assert trace.get() == "second"
        left = remaining_budget()
    assert left is not None
    assert left > 200.0  # the attempt's own deadline stayed with it


def test_a_call_that_is_left_behind_sets_nothing(generated: Generated) -> None:
    """Nobody waits for it, so nobody shall find its traces."""
    gate, ended = Event(), Event()

    @generated(OPERATIONS)["short"]
    def bind() -> None:
        gate.wait(30.0)
        trace.set("late")
        ended.set()

    with pytest.raises(AttemptTimeoutError):
        bind()
    gate.set()
    assert ended.wait(30.0)
    assert trace.get() == "outer"


async def test_the_winner_of_hedged_attempts_shares_it(generated: Generated) -> None:
    """What the slower attempt has set is gone with it."""
    entries: list[int] = []

    @generated(OPERATIONS)["hedged"]
    async def bind() -> int:
        entries.append(number := len(entries))
        trace.set(f"attempt {number}")
        if number == 0:
            await asyncio.sleep(60.0)
        return number

    assert await bind() == 1
    assert trace.get() == "attempt 1"
