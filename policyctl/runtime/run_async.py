"""Guarded calls of coroutine functions, when there is more to do than to call."""

from __future__ import annotations

from asyncio import get_running_loop
from math import inf

from policyctl.runtime.attempt import Attempt
from policyctl.runtime.breaker import REFUSED
from policyctl.runtime.budget import restore
from policyctl.runtime.bulkhead import TaskWaiter, wait_in_task
from policyctl.runtime.call import Call
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.discarded import drop_in_task
from policyctl.runtime.errors import PolicyConfigError, PolicyError
from policyctl.runtime.signatures import is_awaitable
from policyctl.runtime.timer import limit_attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.policy import Policy


async def run(
    policy: Policy,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    attempt: Attempt | None = None,
    started: float | None = None,
) -> Any:
    """Make the whole call, or what is left of it after a first ``attempt``."""
    call = Call(policy, fn, args, kwargs, started)
    try:
        call.attempt = attempt
        await (_loop(call, attempt) if policy.guard is None else _once(call))
        call.over = True
        if call.error is None:
            return call.result
        fallback = policy.answers
        if fallback is None or not fallback.covers(call.error, call.rejection):
            raise call.error
        return await _fall_back(call)
    finally:
        call.end()
        attempt = None


async def run_awaitable(
    policy: Policy,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    first: Any,
) -> Any:
    """Guard what a plain function returned; later attempts call it again."""
    waiting = [first]

    async def call_again(*args: Any, **kwargs: Any) -> Any:
        awaitable = waiting.pop() if waiting else fn(*args, **kwargs)
        return await awaitable

    call_again.__wrapped__ = fn  # type: ignore[attr-defined]  # for its signature
    try:
        return await run(policy, call_again, args, kwargs)
    finally:
        if waiting and hasattr(first, "close"):
            first.close()


async def _once(call: Call) -> None:
    """The attempts under an idempotency key, or the outcome that it has (C29)."""
    guard = call.policy.guard
    assert guard is not None
    try:
        ticket = await guard.enter_async(call.fn, call.args, call.kwargs)
    except PolicyError as refusal:
        if isinstance(refusal, PolicyConfigError):
            raise
        call.error = refusal
        return
    if call.take_over(ticket):
        return
    ticket.open()
    try:
        await _loop(call, None)
    except BaseException as error:
        await ticket.settle_async(None, error)
        raise
    await ticket.settle_async(call.result, call.error)


async def _loop(call: Call, attempt: Attempt | None) -> None:
    token = None if call.policy.budget_total is None else call.open_scope()
    try:
        if attempt is None:
            call.count_first_try()
            attempt = await _first_attempt(call)
        while (delay := call.next_delay(attempt)) is not None:
            await drop_in_task(call.error, call.result)
            if delay > 0 or call.yields:
                await CLOCK.async_sleep(delay)
            attempt = await attempt_call(call, attempt)
    finally:
        attempt = None
        if token is not None:
            restore(token)


async def _first_attempt(call: Call) -> Attempt:
    hedges = call.policy.hedges
    if hedges is None:
        return await attempt_call(call)
    from policyctl.runtime.hedge import hedged

    return await hedged(call, hedges, attempt_call)


async def _fall_back(call: Call) -> Any:
    fallback, error = call.policy.answers, call.error
    assert fallback is not None
    assert error is not None
    try:
        raise error
    except Exception:
        # Raised and caught, so that a failure of the fallback shows both.
        answer = fallback.answer(error, call.args, call.kwargs)
        if is_awaitable(answer):
            answer = await answer
        call.answered = True
        await drop_in_task(error, None)
        return answer
    finally:
        error = None


async def attempt_call(call: Call, last: Attempt | None = None) -> Attempt:
    """One attempt from admission to verdict; the ``last`` one is over."""
    if last is None or call.policy.scopes is not None:
        attempt = call.new_attempt()
    else:
        attempt = last
        attempt.renew()
    entered = attempt.enter_at_once(CLOCK.now())
    if not (await _enter(attempt) if entered is None else entered):
        return attempt
    fn, args, kwargs = call.fn, call.args, call.kwargs
    if call.policy.argument is not None:
        args, kwargs = call.arguments(attempt)
    sending, limit = call.policy.sending, None
    if sending is not None:
        from policyctl.runtime.outgoing import sending_coroutine

        fn = sending_coroutine(sending, fn)
    if attempt.limit != inf:
        limit = limit_attempt(attempt.limit, attempt.deadline, attempt.cut)
    try:
        result = await fn(*args, **kwargs)
    except BaseException as caught:
        timed_out = limit is not None and limit.end(caught)
        if not attempt.failed(caught, timed_out):
            raise
    else:
        overran = limit is not None and limit.fired > 0
        if limit is not None:
            limit.end(None)
        attempt.succeeded(result, overran)
    return attempt


async def _enter(attempt: Attempt) -> bool:
    now = CLOCK.now()
    if attempt.episode == REFUSED:
        if attempt.asks(now) and attempt.breaker is not None:
            await attempt.breaker.ask_async(attempt.permit)
            now = CLOCK.now()
        if not attempt.admit(now) or not await _pass_rate_limit(attempt, now):
            return False
    try:
        while not attempt.take_slot():
            if not await _wait(attempt, now):
                return False
            if attempt.holds_slot:
                break
    except BaseException:
        attempt.turn_back()
        raise
    return attempt.set_limit(CLOCK.now() if attempt.has_waited else now)


async def _pass_rate_limit(attempt: Attempt, now: float) -> bool:
    bucket, found = attempt.policy.bucket, None
    if bucket is not None and bucket.shared:
        try:
            found = await bucket.take_async(attempt.token_wait(now))
        except BaseException:
            attempt.give_up()
            raise
    wait = attempt.take_token(now, found)
    if wait <= 0.0:
        return wait == 0.0
    try:
        await CLOCK.async_sleep(wait)
    except BaseException:
        attempt.turn_back()
        raise
    return attempt.got_token()


async def _wait(attempt: Attempt, since: float) -> bool:
    waiters = attempt.waiters
    assert waiters is not None
    until = attempt.wait_limit(since)
    if until <= since:
        attempt.full_at_once()
        return False
    waiter = TaskWaiter(attempt.breaker, attempt.episode, get_running_loop())
    state = await wait_in_task(waiters, waiter, until)
    return attempt.waited(state, since)
