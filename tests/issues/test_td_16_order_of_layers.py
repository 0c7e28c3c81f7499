"""TD-16: the fallback is outside the retry, and hooks are not part of the call."""

from __future__ import annotations

from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.events import EVENTS, Event
from policyctl.runtime.policy import Policy


def make(answers: list[Any]) -> Policy:
    """All layers; the fallback notes what it answered for."""

    def answer(*args: Any) -> str:
        answers.append(args)
        return "fallback"

    return Policy(
        budget=settings.Budget(total=60.0),
        retry=settings.Retry(max_attempts=3, retry_on=("timeout",)),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=50),
        bulkhead=settings.Bulkhead(max_concurrent=2),
        fallback=settings.FallbackCall(call=answer),
    )


async def test_a_retry_that_works_needs_no_fallback(
    form: Any, script: Any, clock: Any
) -> None:
    """Fail twice, then succeed: three entries, the real value."""
    answers: list[Any] = []
    function = script(TimeoutError(), TimeoutError(), "ok")
    assert await form.guard(make(answers), function)(1) == "ok"
    assert (function.entries, answers) == (3, [])


async def test_the_fallback_runs_once_after_all_attempts(
    form: Any, script: Any, clock: Any
) -> None:
    """Always failing: three entries, one fallback with the same arguments."""
    answers: list[Any] = []
    function = script(TimeoutError())
    assert await form.guard(make(answers), function)(1) == "fallback"
    assert (function.entries, answers) == (3, [(1,)])


async def test_the_fallback_hides_no_bug(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """A programming error that is not recorded stays visible."""
    answers: list[Any] = []
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(record_on=("timeout",)),
        fallback=settings.FallbackValue(value="fallback"),
    )
    error = KeyError("bug")
    assert await settle(form.guard(policy, script(error))()) is error
    assert answers == []


async def test_a_listener_that_fails_costs_no_result(
    form: Any, script: Any, clock: Any, caplog: Any
) -> None:
    """The real value is returned, the listener's error is shown once."""

    def broken(event: Event) -> None:
        raise ValueError("hook")

    stop = EVENTS.listen(broken)
    try:
        function = script(TimeoutError(), "ok")
        assert await form.guard(make([]), function)() == "ok"
    finally:
        stop()
    assert caplog.text.count("ValueError: hook") == 1
