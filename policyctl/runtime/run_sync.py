"""Guarded calls of plain functions, when there is more to do than to call."""

from __future__ import annotations

import sys
from math import inf

from policyctl.runtime.attempt import Attempt
from policyctl.runtime.breaker import REFUSED
from policyctl.runtime.budget import DEADLINE
from policyctl.runtime.bulkhead import ThreadWaiter, wait_in_thread
from policyctl.runtime.call import Call
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.discarded import drop
from policyctl.runtime.errors import NoThreadError, PolicyConfigError, PolicyError
from policyctl.runtime.signatures import PLAIN, is_awaitable
from policyctl.runtime.threads import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.policy import Policy


_awaited: set[str] = set()
"""Policies of which a plain function has returned an awaitable (RT-01)."""


class BlockingCallWarning(RuntimeWarning):
    """A plain function's wrapper is about to block a thread that runs an event loop."""


def run(
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
        if policy.guard is None:
            _loop(call, attempt)
        else:
            _once(call)
        call.over = True
        if call.error is None:
            if call.is_awaitable:
                return _continue_in_task(call)
            return call.result
        fallback = policy.answers
        if fallback is None or not fallback.covers(call.error, call.rejection):
            raise call.error
        return _fall_back(call)
    finally:
        call.end()
        attempt = None


def _once(call: Call) -> None:
    """The attempts under an idempotency key, or the outcome that it has (C29)."""
    guard = call.policy.guard
    assert guard is not None
    try:
        ticket = guard.enter(call.fn, call.args, call.kwargs)
    except PolicyError as refusal:
        if isinstance(refusal, PolicyConfigError):
            raise
        call.error = refusal
        return
    if call.take_over(ticket):
        return
    ticket.open()
    try:
        _loop(call, None)
    except BaseException as error:
        ticket.settle(None, error)
        raise
    if call.is_awaitable:  # no outcome yet; who awaits it takes the key again
        ticket.settle(None, GeneratorExit())
    else:
        ticket.settle(call.result, call.error)


def _loop(call: Call, attempt: Attempt | None) -> None:
    if call.policy.budget_total is None:
        _make_attempts(call, attempt)
        return
    outer = DEADLINE.get()
    try:  # without a loop in it: Ctrl-C at a jump back skips what comes finally
        call.open_scope()
        _make_attempts(call, attempt)
    finally:
        attempt = None
        DEADLINE.set(outer)


def _make_attempts(call: Call, attempt: Attempt | None) -> None:
    try:
        if attempt is None:
            call.count_first_try()
            attempt = attempt_call(call)
        while (delay := call.next_delay(attempt)) is not None:
            drop(call.error, call.result)
            if delay > 0:
                warn_if_blocking(call.policy, f"sleeps {delay:.3f} s before a retry")
                CLOCK.sleep(delay)
            attempt = attempt_call(call, attempt)
    finally:
        attempt = None


def _continue_in_task(call: Call) -> Any:
    """The caller awaits what the function returned; the policy guards that (RT-01)."""
    from policyctl.runtime.run_async import run_awaitable

    _awaited.add(call.policy.name)
    return run_awaitable(call.policy, call.fn, call.args, call.kwargs, call.result)


def _fall_back(call: Call) -> Any:
    fallback, error = call.policy.answers, call.error
    assert fallback is not None
    assert error is not None
    try:
        raise error
    except Exception:
        # Raised and caught, so that a failure of the fallback shows both.
        answer = fallback.answer(error, call.args, call.kwargs)
        if is_awaitable(answer) and call.policy.name not in _awaited:
            raise _awaitable_answer(call.policy, answer) from error
        call.answered = True
        drop(error, None)
        return answer
    finally:
        error = None


def _awaitable_answer(policy: Policy, answer: Any) -> PolicyConfigError:
    """The error for a fallback that is asynchronous where the function is not."""
    if hasattr(answer, "close"):
        answer.close()
    return PolicyConfigError(
        f"the fallback of a plain function gave a {type(answer).__name__} to await",
        path="fallback",
        help="name a plain function, or guard a coroutine function",
        service=policy.service,
        operation=policy.operation,
    )


def attempt_call(call: Call, last: Attempt | None = None) -> Attempt:
    """One attempt from admission to verdict; the ``last`` one is over."""
    if last is None or call.policy.scopes is not None:
        attempt = call.new_attempt()
    else:
        attempt = last
        attempt.renew()
    entered = attempt.enter_at_once(CLOCK.now())
    if not (_enter(attempt) if entered is None else entered):
        return attempt
    policy, fn, args, kwargs = call.policy, call.fn, call.args, call.kwargs
    if policy.argument is not None:
        args, kwargs = call.arguments(attempt)
    sending = policy.sending
    if sending is not None:
        from policyctl.runtime.outgoing import sending_call

        fn = sending_call(sending, fn)
    if attempt.limit == inf:
        try:
            result = fn(*args, **kwargs)
        except BaseException as caught:
            if not attempt.failed(caught, False):
                raise
        else:
            if type(result) in PLAIN:
                attempt.succeeded(result, False)
            else:
                attempt.returned(result, False)
    elif policy.in_thread:
        _call_in_thread(attempt, fn, args, kwargs)
    else:
        _call_cooperatively(attempt, fn, args, kwargs)
    return attempt


def _enter(attempt: Attempt) -> bool:
    now = CLOCK.now()
    if attempt.episode == REFUSED:
        if attempt.asks(now) and attempt.breaker is not None:
            attempt.breaker.ask(attempt.permit)
            now = CLOCK.now()
        if not attempt.admit(now) or not _pass_rate_limit(attempt, now):
            return False
    try:
        while not attempt.take_slot():
            if not _wait(attempt, now):
                return False
            if attempt.holds_slot:
                break
    except BaseException:
        attempt.turn_back()
        raise
    return attempt.set_limit(CLOCK.now() if attempt.has_waited else now)


def _pass_rate_limit(attempt: Attempt, now: float) -> bool:
    try:
        wait = attempt.take_token(now)
    except BaseException:
        attempt.give_up()
        raise
    if wait <= 0.0:
        return wait == 0.0
    try:
        warn_if_blocking(attempt.policy, f"waits {wait:.3f} s for its rate limit")
        CLOCK.sleep(wait)
    except BaseException:
        attempt.turn_back()
        raise
    return attempt.got_token()


def _wait(attempt: Attempt, since: float) -> bool:
    waiters = attempt.waiters
    assert waiters is not None
    until = attempt.wait_limit(since)
    if until <= since:
        attempt.full_at_once()
        return False
    warn_if_blocking(attempt.policy, f"waits {until - since:.3f} s for a slot")
    waiter = ThreadWaiter(attempt.breaker, attempt.episode)
    state = wait_in_thread(waiters, waiter, until)
    return attempt.waited(state, since)


def _call_cooperatively(
    attempt: Attempt,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Nothing is interrupted; the callee can read the deadline as its budget (C21)."""
    outer = DEADLINE.get()
    try:
        DEADLINE.set(attempt.deadline)
        result = fn(*args, **kwargs)
        DEADLINE.set(outer)
    except BaseException as caught:
        DEADLINE.set(outer)
        if not attempt.failed(caught, False):
            raise
    else:
        attempt.returned(result, CLOCK.now() > attempt.deadline)


def _call_in_thread(
    attempt: Attempt,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    policy, deadline = attempt.policy, attempt.deadline
    workers = policy.workers()

    def function() -> Any:
        DEADLINE.set(deadline)
        return fn(*args, **kwargs)

    def left_behind() -> None:
        workers.count_abandoned(-1)
        attempt.release()

    job = Job(function, left_behind)
    try:
        workers.submit(job)
        ended = job.wait(deadline)
    except NoThreadError as refusal:
        attempt.reject(refusal)
        return
    except BaseException:
        attempt.leave_behind(job, workers)
        attempt.give_up()
        raise
    if not ended and not attempt.leave_behind(job, workers):
        attempt.failed(TimeoutError("the call still runs in its thread"), True)
        return
    result, error = job.take()
    if error is None:
        attempt.returned(result, False)
        return
    try:
        if not attempt.failed(error, False):
            raise error
    finally:
        error = None


def warn_if_blocking(policy: Policy, what: str) -> None:
    """Warn when this thread runs an event loop, which would stand still (RT-19)."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return
    import warnings

    warnings.warn(
        f"{policy.name} {what} in a thread that runs an event loop; "
        "guard a coroutine function, or call this one by asyncio.to_thread",
        BlockingCallWarning,
        stacklevel=4,
    )
