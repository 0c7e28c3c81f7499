"""Ctrl-C and exit in a listener or a predicate leave no slot and no permit behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.events import EVENTS, Event
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock

FORMS = ("def", "async def", "thread", "call")
STOPS = (KeyboardInterrupt, SystemExit, ValueError)
"""The last one is an error like any other, which the caller never sees."""


def make(**blocks: Any) -> Policy:
    """One slot; opens on one failure, and one good probe closes it."""
    base: dict[str, Any] = {
        "bulkhead": settings.Bulkhead(max_concurrent=1),
        "circuit_breaker": settings.CircuitBreaker(
            failure_threshold=1,
            record_on=("TimeoutError",),
            recovery_timeout=settings.Recovery(initial=1.0, jitter=0.0),
            success_threshold=1,
        ),
    }
    return Policy(service="s", operation="", **{**base, **blocks})


def caller(policy: Policy, form: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """``work`` guarded in one of the forms, called like a plain function."""
    if form == "async def":

        async def task(*args: Any) -> Any:
            return work(*args)

        guarded = policy(task)
        return lambda *args: asyncio.run(_wait_for(guarded(*args)))
    if form == "call":
        return lambda *args: policy.call(work, *args)
    return policy(work)


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable


def error_of(call: Callable[..., Any], *args: Any) -> BaseException | None:
    """What a call raises, of whatever kind; None if it does not."""
    try:
        call(*args)
    except BaseException as error:
        return error
    return None


def work(fails: bool) -> str:
    """What the tests guard."""
    if fails:
        raise TimeoutError
    return "ok"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(
    "kind", ["transition", "attempt_failed", "rejected", "retry", "stopped", "failed"]
)
def test_in_a_listener(kind: str, stop: type[BaseException], form: str) -> None:
    """Whatever event it strikes at, the slot is free and a probe gets through later."""
    blocks: dict[str, Any] = {
        "retry": settings.Retry(
            max_attempts=2,
            retry_on=("TimeoutError",),
            backoff=settings.Backoff(initial=0.0, max=0.0, jitter="none"),
        )
    }
    if form == "thread":
        blocks["attempt_timeout"] = settings.AttemptTimeout(total=60.0)
    policy = make(**blocks)
    call = caller(policy, form, work)
    strikes = True

    def listener(event: Event) -> None:
        if strikes and event.kind == kind:
            raise stop("in a listener")

    end = EVENTS.listen(listener)
    try:
        with fake_clock() as clock:
            for fails in (True, True, False):
                raised = error_of(call, fails)
                if not isinstance(raised, (TimeoutError, CircuitOpenError, type(None))):
                    assert type(raised) is stop is not ValueError
                assert policy.bulkhead.in_use == 0
                clock.advance(0.6)  # the third call comes in half-open
            strikes = False
            clock.advance(1.0)
            assert call(False) == "ok"
            assert policy.circuit_breaker.state == "closed"
    finally:
        end()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("where", ["retry_if", "retry_if_result", "record_if_result"])
def test_in_a_predicate(where: str, stop: type[BaseException], form: str) -> None:
    """It passes on, the attempt counts for nothing, and the slot is free."""

    def predicate(_: object) -> bool:
        if strikes:
            raise stop("in a predicate")
        return False

    strikes = True
    breaker: dict[str, Any] = {"failure_threshold": 2, "record_on": ("TimeoutError",)}
    retry: dict[str, Any] = {"max_attempts": 2, "retry_on": ("OSError",)}
    (breaker if where == "record_if_result" else retry)[where] = predicate
    blocks: dict[str, Any] = {
        "circuit_breaker": settings.CircuitBreaker(**breaker),
        "retry": settings.Retry(**retry),
    }
    if form == "thread":
        blocks["attempt_timeout"] = settings.AttemptTimeout(total=60.0)
    policy = make(**blocks)

    def fails_or_works() -> str:
        if where == "retry_if":
            raise KeyError("k")
        return "ok"

    call = caller(policy, form, fails_or_works)
    for _ in range(3):
        raised = error_of(call)
        if not isinstance(raised, (KeyError, type(None))):
            assert type(raised) is stop is not ValueError
        assert policy.bulkhead.in_use == 0
    assert policy.circuit_breaker.state == "closed"
    strikes = False
    if where != "retry_if":
        assert call() == "ok"
