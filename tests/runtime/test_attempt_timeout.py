"""C21, C22: the limit of one attempt, in tasks and in threads."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
import weakref
from typing import Any

import pytest

from policyctl.runtime import settings, timer
from policyctl.runtime.budget import budget, remaining_budget
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    BulkheadFullError,
)
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock


def _policy(total: float | None, **more: Any) -> Policy:
    timeout = settings.AttemptTimeout(total=total) if total is not None else None
    return Policy(attempt_timeout=timeout, **more)


BREAKER = settings.CircuitBreaker(failure_threshold=9)


@pytest.mark.timing
@pytest.mark.parametrize("exact", [False, True])
async def test_fires_within_its_bound(exact: bool) -> None:
    """C22: not before 50 ms and not 20 ms after, on the wheel and by an exact timer."""
    policy = _policy(0.05)
    scope = budget(0.2) if not exact else budget(9.0)
    with scope:
        began = time.monotonic()
        if exact:
            with pytest.raises(AttemptTimeoutError):
                await policy.call(_nested, policy)
        else:
            with pytest.raises(AttemptTimeoutError, match=r"timed out after 0\.05 s"):
                await policy.call(asyncio.sleep, 5)
    assert 0.05 <= time.monotonic() - began < 0.1


async def _nested(policy: Policy) -> None:
    await policy.call(asyncio.sleep, 5)


@pytest.mark.timing
async def test_loop_blocked_before_does_not_delay_or_hasten() -> None:
    """C22: a callback that blocks the loop shifts no later attempt's limit."""
    policy = _policy(0.08)
    await policy.call(asyncio.sleep, 0)
    time.sleep(0.05)
    began = time.monotonic()
    with pytest.raises(AttemptTimeoutError):
        await policy.call(asyncio.sleep, 5)
    assert 0.08 <= time.monotonic() - began < 0.13


async def test_own_cancel_is_balanced() -> None:
    """TD-04: after a timeout the task is not cancelling, also under retries."""
    policy = _policy(
        0.02,
        retry=settings.Retry(
            max_attempts=3,
            backoff=settings.Backoff(initial=0.0, max=0.0),
            retry_on=("timeout",),
        ),
    )
    entries: list[int] = []

    async def slow_twice() -> str:
        entries.append(1)
        if len(entries) < 3:
            await asyncio.sleep(5)
        return "done"

    assert await policy.call(slow_twice) == "done"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert len(entries) == 3


async def test_callers_cancel_stays_plain_with_its_message() -> None:
    """TD-07: a cancel from outside is CancelledError with its message, and neutral."""
    policy = _policy(5.0, circuit_breaker=BREAKER)
    task = asyncio.create_task(policy.call(asyncio.sleep, 5))
    await asyncio.sleep(0)
    task.cancel("shutdown")
    with pytest.raises(asyncio.CancelledError, match="shutdown"):
        await task
    assert policy.circuit_breaker.failures == 0
    assert policy.gate.count == 0


@pytest.mark.timing
async def test_callers_cancel_wins_over_the_timeout() -> None:
    """TD-07, C22: both in one step: CancelledError with the caller's message."""
    for caller_first in (False, True):
        policy = _policy(0.02)
        policy.call
        task = asyncio.create_task(policy.call(asyncio.sleep, 5))
        await asyncio.sleep(0.001)
        limit = _fire_now(policy, task, caller_first)
        with pytest.raises(asyncio.CancelledError, match="shutdown"):
            await task
        assert limit.fired == 1


def _wheel_of(policy: Policy) -> timer.Wheel:
    return timer.find_wheel(asyncio.get_running_loop(), policy.wheel_limit)


def _fire_now(
    policy: Policy, task: asyncio.Task[Any], caller_first: bool
) -> timer.Limit:
    wheel = _wheel_of(policy)
    limit = timer.Limit(asyncio.get_running_loop(), task, 0, 0.02, 0.0)
    (place,) = [place for place in wheel.running if place.task is task]
    place.limit = limit
    if caller_first:
        task.cancel("shutdown")
    limit.fire()
    if not caller_first:
        task.cancel("shutdown")
    return limit


async def test_other_exceptions_come_out_as_themselves() -> None:
    """TD-06: a ValueError raised while our cancel is handled stays a ValueError."""
    policy = _policy(0.02)

    async def stubborn() -> None:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            raise ValueError("mine") from None

    with pytest.raises(ValueError, match="mine"):
        await policy.call(stubborn)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_result_in_spite_of_the_cancel_is_returned_and_recorded() -> None:
    """C21's rule for overruns holds in tasks too: returned, and a failure."""
    policy = _policy(0.02, circuit_breaker=BREAKER)

    async def stubborn() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(5)
        return "late"

    assert await policy.call(stubborn) == "late"
    assert policy.circuit_breaker.failures == 1
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.timing
async def test_cleanup_after_our_cancel_is_bounded() -> None:
    """C22: code that cleans up for too long is cancelled again."""
    policy = _policy(0.02)

    async def lingering() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(5)

    began = time.monotonic()
    with pytest.raises(AttemptTimeoutError):
        await policy.call(lingering)
    assert time.monotonic() - began < 0.2
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_limit_in_the_cleanup_of_a_cancelled_task() -> None:
    """C22: in a task that was cancelled before, our timeout is still ours."""
    policy = _policy(0.02)

    async def release() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            with pytest.raises(AttemptTimeoutError):
                await policy.call(asyncio.sleep, 5)
            return "released"
        return "never"

    task = asyncio.create_task(release())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "released"


@pytest.mark.timing
async def test_surrounding_asyncio_timeout_wins() -> None:
    """TD-04: an outer asyncio.timeout of the same task sees only its own cancel."""
    policy = _policy(5.0)
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.02):
            await policy.call(asyncio.sleep, 5)
    assert not isinstance(caught.value, AttemptTimeoutError)


@pytest.mark.timing
async def test_budget_cuts_the_attempt() -> None:
    """C22: cut by the budget it is BudgetExhaustedError, and no failure when early."""
    policy = _policy(1.0, circuit_breaker=BREAKER)
    with budget(0.03), pytest.raises(BudgetExhaustedError, match="cut the attempt"):
        await policy.call(asyncio.sleep, 5)
    assert policy.circuit_breaker.failures == 0
    policy = _policy(0.05, circuit_breaker=BREAKER)
    with budget(0.04), pytest.raises(BudgetExhaustedError):
        await policy.call(asyncio.sleep, 5)
    assert policy.circuit_breaker.failures == 1


@pytest.mark.timing
async def test_open_budget_cuts_without_attempt_timeout() -> None:
    """C22: the limit of an attempt is the remaining budget where nothing else is."""
    policy = _policy(None)
    with budget(0.03), pytest.raises(BudgetExhaustedError):
        await policy.call(asyncio.sleep, 5)
    own = _policy(None, budget=settings.Budget(total=0.03))
    with pytest.raises(BudgetExhaustedError):
        await own.call(asyncio.sleep, 5)


@pytest.mark.timing
def test_two_loops_at_once() -> None:
    """C22: the same policy keeps its limit in two threads with loops of their own."""
    policy = _policy(0.05)
    took: list[float] = []

    async def many() -> None:
        async def one() -> None:
            began = time.monotonic()
            with pytest.raises(AttemptTimeoutError):
                await policy.call(asyncio.sleep, 5)
            took.append(time.monotonic() - began)

        await asyncio.gather(*(one() for _ in range(20)))

    threads = [
        threading.Thread(target=asyncio.run, args=(many(),), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(took) == 40
    assert min(took) >= 0.05
    assert max(took) < 0.25


def test_nothing_keeps_a_closed_loop() -> None:
    """BH-11: after asyncio.run no timer of ours holds its loop."""
    policy = _policy(30.0)
    seen: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def once() -> None:
        await policy.call(asyncio.sleep, 0)
        seen.append(weakref.ref(asyncio.get_running_loop()))

    asyncio.run(once())
    gc.collect()
    assert timer._WHEELS == {}
    assert seen[0]() is None
    asyncio.run(once())


async def test_wheel_serves_thousands_with_one_timer() -> None:
    """The number of loop timers does not grow with attempts in flight."""
    policy = _policy(20.0)
    release = asyncio.Event()
    tasks = [asyncio.create_task(policy.call(release.wait)) for _ in range(2000)]
    await asyncio.sleep(0)
    scheduled: Any = asyncio.get_running_loop()
    assert len(_wheel_of(policy).running) == 2000
    assert len(scheduled._scheduled) < 10
    release.set()
    await asyncio.gather(*tasks)
    assert _wheel_of(policy).running == []


async def test_wheel_lets_go_of_places_after_a_burst() -> None:
    """What 500 attempts at once needed is not kept for one that goes on."""
    policy = _policy(30.0)
    with fake_clock() as clock:
        release = asyncio.Event()
        tasks = [asyncio.create_task(policy.call(release.wait)) for _ in range(500)]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks)
        last = asyncio.create_task(policy.call(asyncio.sleep, 3600))
        await asyncio.sleep(0.01)
        wheel = _wheel_of(policy)
        assert len(wheel._places) == 1
        assert await policy.call(asyncio.sleep, 0, "other") == "other"
        assert len(wheel._places) == 2
        clock.advance(30.0)
        with pytest.raises(AttemptTimeoutError):
            await last
    assert wheel.running == []


async def test_a_place_holds_nothing_of_an_attempt_that_ended() -> None:
    """A task is free as soon as its attempts are over, not at the wheel's next look."""
    policy = _policy(30.0)
    task = asyncio.create_task(policy.call(asyncio.sleep, 0))
    await task
    seen = weakref.ref(task)
    del task
    await asyncio.sleep(0)  # the loop lets go of it
    assert seen() is None
    assert [place.task for place in _wheel_of(policy)._places] == [None]


async def test_attempts_inside_attempts_share_a_wheel() -> None:
    """C22: the outer limit fires with the inner one: one timeout, all cancels balanced."""
    policy = _policy(30.0)
    inside: list[BaseException] = []

    async def outer() -> None:
        try:
            await policy.call(asyncio.sleep, 3600)
        except BaseException as error:
            inside.append(error)
            raise

    with fake_clock() as clock:
        task = asyncio.create_task(policy.call(outer))
        await asyncio.sleep(0)
        wheel = _wheel_of(policy)
        assert [place.task for place in wheel.running] == [task, task]
        clock.advance(30.0)
        with pytest.raises(AttemptTimeoutError):
            await task
    assert [type(error) for error in inside] == [asyncio.CancelledError]
    assert task.cancelling() == 0
    assert wheel.running == []


async def test_later_attempts_use_the_wheel() -> None:
    """C22: a retry arms no loop timer of its own, and its limit holds."""
    policy = _policy(
        30.0,
        retry=settings.Retry(
            max_attempts=2,
            backoff=settings.Backoff(initial=0.0, max=0.0),
            retry_on=("ConnectionError",),
        ),
    )
    attempts: list[int] = []

    async def fails_then_hangs() -> None:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError
        await asyncio.sleep(3600)

    with fake_clock() as clock:
        task = asyncio.create_task(policy.call(fails_then_hangs))
        await asyncio.sleep(0)
        assert [place.due for place in _wheel_of(policy).running] == [
            pytest.approx(clock.now() + 30.0)
        ]
        clock.advance(30.0)
        with pytest.raises(AttemptTimeoutError):
            await task
    assert len(attempts) == 2


@pytest.mark.timing
async def test_wheel_follows_a_fake_clock() -> None:
    """C42: turning the clock fires the limit without a real wait."""
    policy = _policy(30.0)
    with fake_clock() as clock:
        task = asyncio.create_task(policy.call(asyncio.sleep, 3600))
        await asyncio.sleep(0.005)
        clock.advance(29.9)
        await asyncio.sleep(0.01)
        assert not task.done()
        clock.advance(0.2)
        with pytest.raises(AttemptTimeoutError):
            await task


@pytest.mark.timing
async def test_wheel_of_the_real_clock_follows_a_fake_one() -> None:
    """C42: a call before the clock was swapped does not make later ones wait."""
    policy = _policy(30.0)
    await policy.call(asyncio.sleep, 0)
    with fake_clock() as clock:
        task = asyncio.create_task(policy.call(asyncio.sleep, 3600))
        await asyncio.sleep(0)
        clock.advance(30.0)
        with pytest.raises(AttemptTimeoutError, match="after 30 s"):
            await asyncio.wait_for(task, 10.0)
    wheel = timer.find_wheel(asyncio.get_running_loop(), 30.0)
    assert wheel.running == []


async def test_cancels_in_one_step_never_leak() -> None:
    """TD-01: a result and a cancel in one loop step, both orders, many times."""
    policy = _policy(5.0, bulkhead=settings.Bulkhead(max_concurrent=1))
    loop = asyncio.get_running_loop()
    for round_number in range(400):
        future: asyncio.Future[int] = loop.create_future()

        async def wait(future: asyncio.Future[int] = future) -> int:
            return await future

        task = asyncio.create_task(policy.call(wait))
        await asyncio.sleep(0)
        if round_number % 2:
            future.set_result(1)
            task.cancel()
        else:
            task.cancel()
            if not future.done():
                future.set_result(1)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert policy.gate.count == 0


# -- threads ---------------------------------------------------------------------


@pytest.mark.timing
def test_thread_call_times_out_and_keeps_its_slot() -> None:
    """C21: the caller goes on at the limit; slot and gauge wait for the thread."""
    policy = _policy(
        0.03, bulkhead=settings.Bulkhead(max_concurrent=1), circuit_breaker=BREAKER
    )
    release, ended = threading.Event(), threading.Event()

    def hang() -> None:
        release.wait(10)
        ended.set()

    with pytest.raises(AttemptTimeoutError):
        policy.call(hang)
    assert policy.bulkhead.in_use == 1
    assert policy.abandoned == 1
    assert policy.circuit_breaker.failures == 1
    with pytest.raises(BulkheadFullError):
        policy.call(hang)
    release.set()
    ended.wait(5)
    for _ in range(500):
        if policy.abandoned == 0:
            break
        time.sleep(0.002)
    assert policy.bulkhead.in_use == 0
    assert policy.call(lambda: "again") == "again"


def test_thread_has_the_callers_context_and_limit() -> None:
    """C21, C25: context variables are copied, and the limit is the budget inside."""
    policy = _policy(5.0)

    def inside() -> tuple[float | None, bool]:
        return remaining_budget(), threading.current_thread().daemon

    remaining, daemon = policy.call(inside)
    assert remaining is not None
    assert 4.0 < remaining <= 5.0
    assert daemon
    assert remaining_budget() is None


def test_thread_exceptions_come_out_and_threads_are_reused() -> None:
    """C21: an exception crosses over as itself; one thread serves calls in turn."""
    policy = _policy(5.0)
    names: set[int] = set()

    def fail() -> None:
        names.add(threading.get_ident())
        raise KeyError("x")

    for _ in range(5):
        with pytest.raises(KeyError):
            policy.call(fail)
    assert len(names) == 1


@pytest.mark.timing
def test_call_that_no_thread_picked_up_never_starts() -> None:
    """BH-08: with every thread hung, a call whose limit passes is never made."""
    policy = _policy(0.03)
    policy.workers().size = 1
    release = threading.Event()
    entered: list[int] = []
    with pytest.raises(AttemptTimeoutError):
        policy.call(release.wait, 10)
    with pytest.raises(AttemptTimeoutError):
        policy.call(entered.append, 1)
    release.set()
    assert policy.call(lambda: "free") == "free"
    assert entered == []
    assert policy.gate.in_use <= 1


def test_cooperative_interrupts_nothing() -> None:
    """C21: the callee reads the deadline; an overrun is a failure and is returned."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=2.0, sync="cooperative"),
        circuit_breaker=BREAKER,
    )
    with fake_clock() as clock:

        def work(seconds: float) -> float | None:
            left = remaining_budget()
            clock.advance(seconds)
            return left

        assert policy.call(work, 1.0) == 2.0
        assert policy.circuit_breaker.failures == 0
        assert policy.call(work, 2.5) == 2.0
        assert policy.circuit_breaker.failures == 1
        assert remaining_budget() is None


def test_limit_is_passed_as_an_argument() -> None:
    """attempt_timeout.argument: the smaller of limit, budget and what is given."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(
            total=2.0, sync="cooperative", argument="timeout"
        )
    )

    @policy
    def fetch(url: str, timeout: float = 60.0) -> float:
        return timeout

    assert fetch("x") == 2.0
    assert fetch("x", 0.5) == 0.5
    assert fetch("x", timeout=99.0) == 2.0
    with fake_clock(), budget(1.5):
        assert fetch("x") == 1.5


async def test_limit_is_passed_to_coroutine_functions() -> None:
    """attempt_timeout.argument holds for async functions too."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=2.0, argument="timeout")
    )

    @policy
    async def fetch(*, timeout: float | None = None) -> float | None:
        return timeout

    assert await fetch() == 2.0
