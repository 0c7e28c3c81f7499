"""Changing the settings of live parts, each in place, keeping what it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

from policyctl.runtime import build
from policyctl.runtime.breaker import Breaker, _manual_of
from policyctl.runtime.bulkhead import Waiters
from policyctl.runtime.chance import RANDOM
from policyctl.runtime.classify import Classifier
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.fallback import Fallback
from policyctl.runtime.gate import UNUSUAL
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.policy import Policy
from policyctl.runtime.scopes import Keyed
from policyctl.runtime.settings import Bulkhead, CircuitBreaker, RetryBudget
from policyctl.runtime.strategies import Strategies
from policyctl.runtime.window import CountWindow, TimeWindow

_flagged: WeakSet[Policy] = WeakSet()


def change_policy(policy: Policy, settings: dict[str, Any], done: set[int]) -> None:
    """Give a policy other settings, which have been checked to be possible.

    Args:
        policy: a live policy.
        settings: all its blocks by name, after overrides.
        done: parts that other policies share and that have been changed already.
    """
    old, policy.blocks = policy.blocks, dict(settings)
    compiled = _compiled_in(policy, old)

    def changed(*names: str) -> bool:
        return any(old.get(name) != settings.get(name) for name in names)

    if changed("attempt_timeout", "budget"):
        build._set_limits(
            policy, settings.get("attempt_timeout"), settings.get("budget")
        )
    if changed("retry", "circuit_breaker"):
        policy.classifier = Classifier(
            policy.service,
            policy.operation,
            transport=policy.transport,
            retry=settings.get("retry"),
            circuit_breaker=settings.get("circuit_breaker"),
        )
        _change_retry(policy, settings.get("retry"))
    if changed("circuit_breaker"):
        _change_breakers(policy, settings["circuit_breaker"], done)
    if changed("bulkhead"):
        _change_bulkheads(policy, settings["bulkhead"], done)
    if changed("rate_limit") and policy.bucket is not None:
        policy.bucket.settings = settings["rate_limit"]
    if changed("hedge") and policy.hedges is not None:
        policy.hedges.settings = settings["hedge"]
        share = policy.hedges.tokens.settings.replace(ratio=settings["hedge"].budget)
        policy.hedges.tokens.change(share)
    if policy.guard is not None and changed("idempotency", "retry", "circuit_breaker"):
        policy.guard.change(settings["idempotency"], policy.classifier)
    if changed("fallback", "retry", "circuit_breaker"):
        block = settings.get("fallback")
        policy.answers = (
            None if block is None else Fallback(policy, block, policy.classifier)
        )
    if compiled != _compiled_in(policy, settings):
        _take_slow_side(policy)


def _compiled_in(policy: Policy, settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """What wrappers of the policy have in them from the time when they were made."""
    breaker = settings.get("circuit_breaker")
    return (
        settings.get("attempt_timeout"),
        settings.get("budget"),
        settings.get("retry") is None,
        policy.classifier.checks_results,
        policy.classifier.has_result_rules,
        None if breaker is None else breaker.slow_call,
        None if policy.breaker is None else id(policy.breaker.window),
    )


def _take_slow_side(policy: Policy) -> None:
    """Pass the compiled wrappers by from now on."""
    if policy not in _flagged:
        _flagged.add(policy)
        with policy.gate.lock:
            policy.gate.add(UNUSUAL)


def _change_retry(policy: Policy, settings: Any) -> None:
    old = policy.strategies
    random = RANDOM if old is None else old.random
    budget = None if old is None else old.budget
    policy.strategies = None
    if settings is not None:
        new = Strategies(settings, random, policy.classifier, policy.gate)
        wanted: RetryBudget | None = settings.budget
        if wanted is not None and budget is not None:
            if new.budget is not None:
                new.budget.retire()
            new.budget = budget
            budget.change(wanted)
            budget = None
        policy.strategies = new
    if budget is not None:
        budget.retire()


# -- circuit breakers --------------------------------------------------------------------


def _change_breakers(policy: Policy, settings: CircuitBreaker, done: set[int]) -> None:
    if policy.breaker is not None:
        if id(policy.breaker) not in done:
            done.add(id(policy.breaker))
            change_breaker(policy.breaker, settings)
        return
    keyed: Keyed[Breaker] | None = None if policy.scopes is None else policy.scopes[0]
    if keyed is not None:
        _for_all(keyed, change_breaker, settings)


def _for_all(keyed: Any, change: Callable[[Any, Any], None], settings: Any) -> None:
    """Change all that there are, and those to come after what was done to them before."""
    before = keyed._make_hook

    def change_new(item: Any) -> None:
        change(item, settings)
        if before is not None:
            before(item)

    keyed._make_hook = change_new
    for item in keyed.values():
        change(item, settings)


def change_breaker(breaker: Breaker, settings: CircuitBreaker) -> None:
    """Other thresholds for the same state, window, permits and break."""
    old, now = breaker.settings, CLOCK.now()
    with breaker.lock:
        breaker.settings = settings
        breaker._refusing = settings.mode != "observe"
        _change_window(breaker, old, now)
        if breaker.window is not None:
            breaker.window.settle()
            breaker.window.expect_judgement(settings.minimum_calls)
    breaker.settings_changed()
    if old.mode != settings.mode and breaker._manual == _manual_of(old):
        breaker.set_manual(_manual_of(settings))


def _change_window(breaker: Breaker, old: CircuitBreaker, now: float) -> None:
    settings, window = breaker.settings, breaker.window
    wanted = breaker.shared or not (
        settings.failure_ratio is None and settings.slow_call is None
    )
    if not wanted:
        breaker.window = None
        return
    if window is not None and settings.window == old.window:
        return
    new = breaker.make_window()
    if window is not None:
        window.expire(now)
        carry_over(window, new, now)
    breaker.window = new


def carry_over(
    old: CountWindow | TimeWindow, new: CountWindow | TimeWindow, now: float
) -> None:
    """Put what one window counts into another, as if it had completed now."""
    if isinstance(new, TimeWindow):
        new.expire(now)
        bucket = new._bucket()
        for index, number in enumerate((old.total, old.failed, old.slow)):
            bucket[index] += number
        new.total, new.failed, new.slow = old.total, old.failed, old.slow
        return
    size = min(old.total, new._size)
    failed = round(old.failed * size / old.total) if old.total else 0
    slow = round(old.slow * size / old.total) if old.total else 0
    for index in range(size):
        new._push((index < failed) | ((index < slow) << 1))


# -- bulkheads ---------------------------------------------------------------------------


def _change_bulkheads(policy: Policy, settings: Bulkhead, done: set[int]) -> None:
    waiters = policy.waiters
    if waiters is not None:
        if id(waiters) not in done:
            done.add(id(waiters))
            change_waiters(waiters, settings)
        if policy._workers is not None:
            policy._workers.size = settings.max_concurrent
        return
    keyed: Keyed[Waiters] | None = None if policy.scopes is None else policy.scopes[1]
    if keyed is not None:
        _for_all(keyed, change_waiters, settings)


def change_waiters(waiters: Waiters, settings: Bulkhead) -> None:
    """Other limits for the same slots in use and the same queue (C20)."""
    waiters.settings = settings
    if settings.mode == "disabled":
        with waiters.gate.lock:
            waiters.gate.limit = UNUSUAL
    waiters.resize(settings.max_concurrent)


def change_inbound(inbound: Inbound, settings: dict[str, Any]) -> None:
    """Other limits for the same requests inside."""
    inbound.settings = settings
    if inbound._waiters is not None:
        change_waiters(inbound._waiters, settings["bulkhead"])
    if inbound._bucket is not None:
        inbound._bucket.settings = settings["rate_limit"]
