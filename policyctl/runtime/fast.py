"""Where compiled wrappers go when their first attempt ends in anything but plain success."""

from __future__ import annotations

from policyctl.runtime.attempt import Attempt
from policyctl.runtime.budget import DEADLINE, restore
from policyctl.runtime.call import report_failure
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.gate import HAS_GIL
from policyctl.runtime.signatures import is_awaitable
from policyctl.runtime.telemetry.meter import CANCELLED, FAILURE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from typing import Any

    from policyctl.runtime.policy import Policy
    from policyctl.runtime.timer import Place


def refuse(policy: Policy, now: float | None) -> CircuitOpenError | None:
    """The error to raise at once where nothing else could come of the call.

    That is so while the break has not elapsed and there is no fallback. The wrapper
    raises it, since each frame that an error passes costs as much as a call.
    """
    breaker = policy.breaker
    if breaker is None or policy.answers is not None or EVENTS.listeners:
        return None
    wait = breaker.until - (CLOCK.now() if now is None else now)
    if wait > 0.0 and breaker.rejects and not policy.asleep:
        if HAS_GIL:
            breaker.rejected += 1
        else:
            with breaker.lock:
                breaker.rejected += 1
        if policy.meter is not None:
            policy.meter.refuse()
        return CircuitOpenError(policy.service, policy.operation, wait)
    return None


def leave(policy: Policy, episode: int, started: float | None) -> None:
    """An attempt worked, and the gate is flagged or the breaker counts successes."""
    if policy.retry_budget is not None:
        policy.retry_budget.success()
    breaker = policy.breaker
    try:
        if breaker is not None:
            now = CLOCK.now()
            spent = 0.0 if started is None else now - started
            breaker.success(episode, 0, now, spent)
    finally:  # Ctrl-C in a listener
        policy.release_slot()


def _attempt(policy: Policy, episode: int, started: float | None) -> Attempt:
    """The first attempt of a call, as the slow side knows it."""
    attempt = Attempt(policy)
    attempt.episode = episode
    attempt.started = CLOCK.now() if started is None else started
    attempt.holds_slot = True
    return attempt


def failed(
    policy: Policy,
    caught: BaseException,
    episode: int,
    started: float | None,
    place: Place | None = None,
    token: Token[float] | None = None,
    outer: float | None = None,
) -> Attempt | None:
    """The call raised; None if ``caught`` is to pass through untouched.

    ``outer`` is the caller's deadline where the call may have opened its own budget.
    """
    attempt = None
    try:
        timed_out = place is not None and place.end(caught)
        attempt = _attempt(policy, episode, started)
        if place is not None and timed_out:
            attempt.limit = place.wheel.limit
            attempt.cut = policy.wheel_is_budget
        passes_on = attempt.failed(caught, timed_out)
    except BaseException:  # Ctrl-C, in a predicate perhaps
        (attempt or _attempt(policy, episode, started)).let_go()
        raise
    finally:
        if token is not None:
            restore(token)
        elif outer is not None and started is not None:
            _take_back(policy, caught, started, outer)
    if not passes_on:
        if policy.meter is not None:
            policy.meter.end(CANCELLED, 1, CLOCK.now() - attempt.started)
        return None
    if attempt.error is caught and not attempt.may_retry and policy.answers is None:
        if policy.meter is not None:
            policy.meter.end(FAILURE, 1, CLOCK.now() - attempt.started)
        if EVENTS.listeners:
            report_failure(policy, caught, attempt.started)
        return None
    return attempt


def _take_back(
    policy: Policy, caught: BaseException, started: float, outer: float
) -> None:
    """Put the caller's deadline back if Ctrl-C struck between set and its token."""
    own = started + (policy.budget_total or 0.0)
    if not isinstance(caught, GeneratorExit) and DEADLINE.get() == own:
        DEADLINE.set(outer)


def judged(
    policy: Policy,
    result: Any,
    episode: int,
    started: float | None,
    place: Place | None,
) -> Attempt | None:
    """The call returned something to look at; None if it is a plain success."""
    overran = place is not None
    if place is not None:
        place.end(None)
    elif not policy.classifier.checks_results:
        return None
    attempt = _attempt(policy, episode, started)
    attempt.cut = policy.wheel_is_budget
    attempt.succeeded(result, overran)
    return attempt


def judged_sync(
    policy: Policy,
    result: Any,
    episode: int,
    started: float | None,
    place: None,
) -> Attempt | None:
    """As ``judged`` for a plain function, which may have returned an awaitable."""
    if not is_awaitable(result) and not policy.classifier.checks_results:
        return None
    attempt = _attempt(policy, episode, started)
    attempt.returned(result, False)
    return attempt
