"""Hedged calls: another attempt when the first is slow, the first success wins (C24).

Every attempt runs in a task of its own. Losers are cancelled and count for nothing.
Hedges are a share of the calls, by a token bucket as for retries, and none is made while
the circuit breaker is anything but closed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from policyctl.runtime.breaker import CLOSED
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.contexts import adopt
from policyctl.runtime.discarded import drop_in_task
from policyctl.runtime.events import EVENTS
from policyctl.runtime.gate import Gate
from policyctl.runtime.one_shot import has_one
from policyctl.runtime.retry_budget import TokenBudget
from policyctl.runtime.settings import Hedge, RetryBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextvars import Context

    from policyctl.runtime.attempt import Attempt
    from policyctl.runtime.call import Call

BURST = 10
"""Hedges that may be made in a row before they have to be earned."""

_losers: set[asyncio.Task[Any]] = set()


class Hedges:
    """The hedges of one policy.

    Attributes:
        settings: the ``hedge`` block.
        tokens: bounds the share of hedges.
    """

    __slots__ = ("settings", "tokens")

    def __init__(self, settings: Hedge) -> None:
        self.settings = settings
        budget = RetryBudget(
            ratio=settings.budget, refill="request", floor=0.0, burst=BURST
        )
        self.tokens = TokenBudget(budget, Gate())

    def after_fork(self) -> None:
        """In a child process: fresh locks."""
        self.tokens.after_fork()


async def hedged(call: Call, hedges: Hedges, make: Any) -> Attempt:
    """The attempt that decides: the first success, else the last to fail.

    Args:
        call: the call.
        hedges: how many and when.
        make: coroutine function that makes one attempt of ``call``.
    """
    hedges.tokens.first_try()
    contexts: dict[asyncio.Task[Attempt], Context] = {}
    running = {_start(make(call), contexts)}
    started, last = 0, None
    try:
        while running:
            may_start = started < hedges.settings.max_hedges
            done = await _wait(running, hedges.settings.delay if may_start else None)
            for task in done:
                running.discard(task)
                last = _later(last, task.result())
                if _worked(last):
                    adopt(contexts[task])
                    return last
            if done or not may_start:
                continue
            started += 1
            if _may_hedge(call, hedges):
                call.attempts += 1
                running.add(_start(make(call), contexts))
        assert last is not None
        return last
    except GeneratorExit:
        _end_with_loop(running)
        raise
    finally:
        for task in running:
            _losers.add(task)
            task.add_done_callback(_forget)
            task.cancel()


def _start(
    attempt: Coroutine[Any, Any, Attempt],
    contexts: dict[asyncio.Task[Attempt], Context],
) -> asyncio.Task[Attempt]:
    """A task for the attempt, whose context is noted."""
    context = copy_context()
    task = asyncio.create_task(attempt, context=context)
    contexts[task] = context
    return task


def _end_with_loop(running: set[asyncio.Task[Attempt]]) -> None:
    """Cancel attempts of a call that was closed, as after the end of its event loop.

    They are not held as losers: the loop may never run again.
    """
    for task in running:
        with suppress(RuntimeError):  # the loop is closed
            task.cancel()
    running.clear()


def _forget(task: asyncio.Task[Attempt]) -> None:
    _losers.discard(task)
    if task.cancelled() or task.exception() is not None:
        return
    attempt = task.result()
    closing = asyncio.ensure_future(drop_in_task(attempt.error, attempt.result))
    _losers.add(closing)
    closing.add_done_callback(_losers.discard)


def _worked(attempt: Attempt) -> bool:
    return attempt.error is None and attempt.rejection is None


def _later(last: Attempt | None, attempt: Attempt) -> Attempt:
    """A real outcome counts for more than a rejection of ours."""
    if last is not None and attempt.rejection is not None:
        return last
    return attempt


async def _wait(
    running: set[asyncio.Task[Attempt]], delay: float | None
) -> set[asyncio.Task[Attempt]]:
    until = None if delay is None else CLOCK.now() + delay
    while True:
        left = None if until is None else max(0.0, until - CLOCK.now())
        pause = left if CLOCK.real or left is None else min(left, 0.002)
        done, _ = await asyncio.wait(
            running, timeout=pause, return_when=asyncio.FIRST_COMPLETED
        )
        if done or (until is not None and CLOCK.now() >= until):
            return done


def _may_hedge(call: Call, hedges: Hedges) -> bool:
    attempt = call.new_attempt()
    breaker = attempt.breaker
    if breaker is not None and breaker.state(CLOCK.now()) != CLOSED:
        return False
    if has_one(call.args, call.kwargs):  # both attempts would read from it
        return False
    if not hedges.tokens.take():
        return False
    if EVENTS.listeners:
        EVENTS.emit("hedge", call.policy.service, call.policy.operation)
    return True
