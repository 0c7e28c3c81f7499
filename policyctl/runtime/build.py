"""Builds the parts of a policy from its settings."""

from __future__ import annotations

from policyctl.runtime.bulkhead import Waiters
from policyctl.runtime.classify import Classifier
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.fallback import Fallback
from policyctl.runtime.gate import Gate
from policyctl.runtime.overrides import apply_overrides
from policyctl.runtime.rate_limit import TokenBucket
from policyctl.runtime.scopes import (
    SHARED,
    keyed_breakers,
    keyed_waiters,
    make_breaker,
)
from policyctl.runtime.telemetry.switch import SWITCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime import settings as _settings
    from policyctl.runtime.breaker import Breaker
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.hedge import Hedges
    from policyctl.runtime.idempotency import Guard
    from policyctl.runtime.outgoing import Sending
    from policyctl.runtime.policy import Policy
    from policyctl.runtime.scopes import Keyed
    from policyctl.runtime.strategies import Strategies

INFINITY = float("inf")


def build(policy: Policy, declared: dict[str, Any], random: Chance) -> None:
    """Give ``policy``, which has its names, everything else.

    Raises:
        PolicyConfigError: settings or overrides that are wrong or contradict.
    """
    changed, variables = apply_overrides(policy.service, policy.operation, declared)
    blocks = changed if variables else declared
    policy.blocks = blocks
    policy.transport = blocks.get("transport")
    policy.wrapped = policy._async_call = policy._sync_call = policy._workers = None
    _set_limits(policy, blocks.get("attempt_timeout"), blocks.get("budget"))
    policy.classifier = Classifier(
        policy.service,
        policy.operation,
        transport=policy.transport,
        retry=blocks.get("retry"),
        circuit_breaker=blocks.get("circuit_breaker"),
    )
    policy.gate = Gate()
    bulkheads = _set_waiters(policy, blocks.get("bulkhead"))
    breakers = _set_breaker(policy, blocks.get("circuit_breaker"), random)
    policy.scopes = None
    if bulkheads is not None or breakers is not None:
        policy.scopes = breakers, bulkheads
    policy.strategies = _strategies(policy, blocks.get("retry"), random)
    policy.hedges = _hedges(policy, blocks.get("hedge"))
    rate_limit = blocks.get("rate_limit")
    policy.bucket = None if rate_limit is None else _bucket(policy, rate_limit)
    policy.guard = _guard(policy, blocks.get("idempotency"))
    fallback = blocks.get("fallback")
    policy.answers = None
    if fallback is not None:
        policy.answers = Fallback(policy, fallback, policy.classifier)
    policy.meter = SWITCH.meter(policy.service, policy.operation)
    policy.asleep = False
    if policy.service in SWITCH.services:
        policy.fall_asleep()


def _set_limits(
    policy: Policy,
    attempt_timeout: _settings.AttemptTimeout | None,
    budget: _settings.Budget | None,
) -> None:
    limit = total = None
    policy.argument = None
    policy.in_thread = False
    if attempt_timeout is not None:
        limit = attempt_timeout.total
        policy.argument = attempt_timeout.argument
        policy.in_thread = attempt_timeout.sync == "thread"
    policy.inherits_budget = True
    policy.minimum = 0.0
    if budget is not None:
        total = budget.total
        policy.inherits_budget = budget.inherit
        policy.minimum = budget.minimum
    policy.sending = _sending(policy, attempt_timeout, budget)
    policy.attempt_limit = limit
    policy.budget_total = total
    shortest = INFINITY if limit is None else limit
    policy.wheel_is_budget = total is not None and total < shortest
    policy.wheel_limit = shortest if total is None else min(shortest, total)


def _sending(
    policy: Policy,
    attempt_timeout: _settings.AttemptTimeout | None,
    budget: _settings.Budget | None,
) -> Sending | None:
    if (attempt_timeout is None or attempt_timeout.connect is None) and (
        budget is None or budget.header is None
    ):
        return None
    from policyctl.runtime.outgoing import Sending

    return Sending(policy.name, attempt_timeout, budget)


def _set_waiters(
    policy: Policy, settings: _settings.Bulkhead | None
) -> Keyed[Waiters] | None:
    policy.waiters = None
    if settings is None:
        return None
    if settings.scope == "operation":
        policy.waiters = Waiters(policy.gate, settings)
    elif settings.scope == "service":
        policy.waiters = SHARED.waiters(policy.service, settings)
    else:
        return keyed_waiters(settings)
    return None


def _set_breaker(
    policy: Policy, settings: _settings.CircuitBreaker | None, random: Chance
) -> Keyed[Breaker] | None:
    policy.breaker = None
    if settings is None:
        return None
    if settings.scope == "operation":
        notify = _Transition(policy.service, policy.operation)
        policy.breaker = make_breaker(settings, notify, random, _shared_name(policy))
    elif settings.scope == "service":
        policy.breaker = SHARED.breaker(policy.service, settings, random)
    else:
        name, notify_of = _shared_name(policy), _transition_of(policy)
        return keyed_breakers(settings, notify_of, random, name)
    policy.breaker.attach(policy.gate)
    return None


def _bucket(policy: Policy, settings: _settings.RateLimit) -> TokenBucket:
    if settings.store == "memory":
        return TokenBucket(settings)
    from policyctl.runtime.shared.rate_limit import SharedBucket

    return SharedBucket(settings, _shared_name(policy))


def _shared_name(policy: Policy) -> str:
    """What the operation's state is called in a store; empty without a service."""
    return policy.name if policy.service and policy.operation else ""


class _Transition:
    """Tells of an operation's breaker; an object, since a closure takes four times as
    much."""

    __slots__ = ("_operation", "_service")

    def __init__(self, service: str, operation: str) -> None:
        self._service = service
        self._operation = operation

    def __call__(self, old: str, new: str) -> None:
        EVENTS.transition(self._service, self._operation, old, new)


def _transition_of(policy: Policy) -> Callable[[object, str, str], None]:
    service, operation = policy.service, policy.operation

    def notify(key: object, old: str, new: str) -> None:
        EVENTS.transition(service, operation, old, new, key=key)

    return notify


def _strategies(
    policy: Policy, settings: _settings.Retry | None, random: Chance
) -> Strategies | None:
    if settings is None:
        return None
    from policyctl.runtime.strategies import Strategies

    return Strategies(settings, random, policy.classifier, policy.gate)


def _hedges(policy: Policy, settings: _settings.Hedge | None) -> Hedges | None:
    if settings is None:
        return None
    from policyctl.runtime.hedge import Hedges

    if policy.settings.get("idempotent") is not True:
        raise _wrong_hedge(policy, "the operation is not idempotent: true")
    if policy.strategies is not None:
        raise _wrong_hedge(policy, "the operation retries too; choose one of them")
    return Hedges(settings)


def _wrong_hedge(policy: Policy, message: str) -> PolicyConfigError:
    service, operation = policy.service, policy.operation
    return PolicyConfigError(
        message, path="hedge", service=service, operation=operation
    )


def _guard(policy: Policy, settings: _settings.Idempotency | None) -> Guard | None:
    if settings is None:
        return None
    from policyctl.runtime.idempotency import Guard

    return Guard(policy.name, settings, policy.classifier, policy.budget_total)
