"""C2: Ctrl-C between the steps of a guarded call leaves no slot, permit or budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import budget, settings, wrappers
from policyctl.runtime.attempt import Attempt
from policyctl.runtime.breaker import Breaker
from policyctl.runtime.budget import NO_DEADLINE
from policyctl.runtime.call import Call
from policyctl.runtime.policy import Policy
from policyctl.runtime.signatures import PREFIX
from policyctl.testing import fake_clock

BUDGET = settings.Budget(total=60.0)
SLOTS = settings.Bulkhead(max_concurrent=2)
RATIO = settings.CircuitBreaker(failure_ratio=0.5)


def _after(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step with Ctrl-C behind it, as the interpreter notices it."""

    def interrupted(*args: Any) -> Any:
        step(*args)
        raise KeyboardInterrupt

    return interrupted


def _call(policy: Policy, form: str) -> Any:
    async def work() -> int:
        return 1

    return asyncio.run(policy(work)()) if form == "async" else policy(lambda: 1)()


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("step", ["set_deadline", "reset_deadline", "now"])
@pytest.mark.parametrize("inherit", [True, False])
def test_in_a_compiled_wrapper(
    form: str, step: str, inherit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the budget is opened or left, or the clock is read."""
    block = BUDGET.replace(inherit=inherit)
    policy = Policy(budget=block, bulkhead=SLOTS, circuit_breaker=RATIO)
    name = f"{PREFIX}{step}"
    real = wrappers._GLOBALS[name]
    monkeypatch.setitem(wrappers._GLOBALS, name, _after(real))
    with budget.budget(3600.0):
        before = budget.DEADLINE.get()
        with pytest.raises(KeyboardInterrupt):
            _call(policy, form)
        assert budget.DEADLINE.get() is before
    assert policy.gate.count == 0
    assert policy.circuit_breaker.statistics()["window"]["calls"] == 0
    monkeypatch.setitem(wrappers._GLOBALS, name, real)
    assert _call(policy, form) == 1


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize(
    ("owner", "step"),
    [
        (Call, "open_scope"),
        (Call, "new_attempt"),
        (Call, "next_delay"),
        (Attempt, "take_slot"),
        (Attempt, "set_limit"),
        (Attempt, "enter_at_once"),
        (Breaker, "admit"),
    ],
)
def test_on_the_slow_side(
    form: str, owner: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after each step of a probe in half-open, which takes slot and permit."""
    breaker = settings.CircuitBreaker(failure_threshold=1, success_threshold=2)
    retry = settings.Retry(max_attempts=2, retry_on=("OSError",))
    policy = Policy(budget=BUDGET, bulkhead=SLOTS, circuit_breaker=breaker, retry=retry)
    with fake_clock() as clock:
        assert policy.breaker is not None
        policy.breaker.failure(policy.breaker.episode, 0, clock.now(), 0.0)
        clock.advance(600.0)
        assert policy.circuit_breaker.state == "half_open"
        real = getattr(owner, step)
        monkeypatch.setattr(owner, step, _after(real))
        with pytest.raises(KeyboardInterrupt):
            _call(policy, form)
        monkeypatch.setattr(owner, step, real)
        assert budget.DEADLINE.get() == NO_DEADLINE
        assert policy.gate.in_use == 0
        assert policy.circuit_breaker.statistics()["permits_in_use"] == 0
        assert _call(policy, form) == 1
