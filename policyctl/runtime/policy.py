"""The policy of one operation: a single fused object around every call.

The order is fixed, outermost first: fallback, idempotency, budget, retry, circuit breaker,
rate limit, bulkhead, attempt timeout, call (C1). Breaker and bulkhead work on attempts because the callee sees
attempts; back-off sleeps hold no slot; the fallback runs once, after everything else.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from _weakrefset import WeakSet
from types import MappingProxyType

from policyctl.runtime.build import build
from policyctl.runtime.chance import RANDOM
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.fields import shared
from policyctl.runtime.gate import UNUSUAL
from policyctl.runtime.registry import place_of_caller, registry, registry_entry
from policyctl.runtime.scopes import SHARED
from policyctl.runtime.served import refuse_unserved
from policyctl.runtime.signatures import ASYNCHRONOUS, GENERATORS, flags_for_call
from policyctl.runtime.telemetry.switch import SWITCH
from policyctl.runtime.threads import Workers
from policyctl.runtime.views import (
    BulkheadView,
    CircuitBreakerView,
    KeyedBulkheadView,
    KeyedCircuitBreakerView,
    RateLimitView,
    RetryView,
)
from policyctl.runtime.wrappers import decorate, generator_refusal, packed_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ParamSpec, Self, TypeVar

    from policyctl.runtime import settings as _settings
    from policyctl.runtime.breaker import Breaker
    from policyctl.runtime.bulkhead import Waiters
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.classify import Classifier
    from policyctl.runtime.fallback import Fallback
    from policyctl.runtime.gate import Gate
    from policyctl.runtime.hedge import Hedges
    from policyctl.runtime.idempotency import Guard
    from policyctl.runtime.outgoing import Sending
    from policyctl.runtime.rate_limit import TokenBucket
    from policyctl.runtime.retry_budget import TokenBudget
    from policyctl.runtime.scopes import Keyed
    from policyctl.runtime.strategies import Strategies
    from policyctl.runtime.telemetry.meter import Meter

    F = TypeVar("F", bound=Callable[..., object])
    P = ParamSpec("P")
    R = TypeVar("R")

THREADS = 64
"""Worker threads for an operation without a bulkhead."""

_nameless: WeakSet[Policy] = WeakSet()
"""Policies that the registry does not know."""
_making = allocate_lock()


class Policy:
    """Guards the calls of one operation.

    Used as a decorator (``@policy``) or for one call (``policy.call(fn, ...)``), for
    plain and coroutine functions, functions and methods alike. State is shared by all
    that it guards: threads, tasks and event loops.

    A policy with a name is one live object: defining it again with the same settings
    gives the object that is there.

    Attributes:
        service: the service's name, empty for a policy without one.
        operation: the operation's name.
        blocks: the settings by name, not to be changed; ``settings`` for users.

    Raises:
        PolicyConfigError: settings that are wrong, not served, or at odds with a live
            policy of the same name.
    """

    __slots__ = (
        "__weakref__",
        "_async_call",
        "_sync_call",
        "_workers",
        "answers",
        "argument",
        "asleep",
        "attempt_limit",
        "blocks",
        "breaker",
        "bucket",
        "budget_total",
        "classifier",
        "gate",
        "guard",
        "hedges",
        "in_thread",
        "inherits_budget",
        "meter",
        "minimum",
        "operation",
        "scopes",
        "sending",
        "service",
        "strategies",
        "transport",
        "waiters",
        "wheel_is_budget",
        "wheel_limit",
        "wrapped",
    )

    service: str
    operation: str
    blocks: dict[str, Any]
    transport: str | None
    gate: Gate
    breaker: Breaker | None
    waiters: Waiters | None
    scopes: tuple[Keyed[Breaker] | None, Keyed[Waiters] | None] | None
    bucket: TokenBucket | None
    strategies: Strategies | None
    hedges: Hedges | None
    guard: Guard | None
    sending: Sending | None
    answers: Fallback | None
    classifier: Classifier
    meter: Meter | None
    asleep: bool
    argument: str | None
    attempt_limit: float | None
    in_thread: bool
    budget_total: float | None
    inherits_budget: bool
    minimum: float
    wheel_limit: float
    wheel_is_budget: bool
    wrapped: Callable[..., Any] | None
    _async_call: Callable[..., Any] | None
    _sync_call: Callable[..., Any] | None
    _workers: Workers | None

    def __new__(
        cls,
        *,
        service: str = "",
        operation: str = "",
        kind: str = "unary",
        idempotent: bool | None = None,
        transport: str | None = None,
        attempt_timeout: _settings.AttemptTimeout | None = None,
        budget: _settings.Budget | None = None,
        retry: _settings.Retry | None = None,
        circuit_breaker: _settings.CircuitBreaker | None = None,
        bulkhead: _settings.Bulkhead | None = None,
        rate_limit: _settings.RateLimit | None = None,
        hedge: _settings.Hedge | None = None,
        fallback: (
            _settings.FallbackValue
            | _settings.FallbackCall
            | _settings.FallbackOperation
            | None
        ) = None,
        idempotency: _settings.Idempotency | None = None,
        random: Chance = RANDOM,
    ) -> Self:
        """Find or make the policy; ``random`` spreads delays and can be seeded."""
        declared: dict[str, Any] = {
            "kind": kind,
            "idempotent": idempotent,
            "transport": transport,
            "attempt_timeout": attempt_timeout,
            "budget": budget,
            "retry": retry,
            "circuit_breaker": circuit_breaker,
            "bulkhead": bulkhead,
            "rate_limit": rate_limit,
            "hedge": hedge,
            "fallback": fallback,
            "idempotency": idempotency,
        }
        refuse_unserved(service, operation, declared)
        if kind == "unary":
            del declared["kind"]
        declared = {
            key: shared(value) for key, value in declared.items() if value is not None
        }

        def make() -> Policy:
            policy = object.__new__(cls)
            policy.service = service
            policy.operation = operation
            build(policy, declared, random)
            return policy

        if not service or not operation:
            found = make()
            _nameless.add(found)
        else:
            name = f"{service}.{operation}"
            found = registry.claim(name, declared, make, place_of_caller())
        assert isinstance(found, cls)
        return found

    # -- use -----------------------------------------------------------------------

    def __call__(self, fn: F, /) -> F:
        """The guarded form of ``fn``, with its signature, name, type and doc.

        Raises:
            PolicyConfigError: ``fn`` is a class, a generator function, or an object
                made by ``classmethod``, ``staticmethod`` or ``property``.
        """
        wrapper: F = decorate(self, fn)
        if self.wrapped is None:
            self.wrapped = wrapper
        return wrapper

    def call(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call ``fn`` guarded, once; for a coroutine function await what is returned.

        Raises:
            PolicyError: the policy refused or cut the call; see ``errors``.
            PolicyConfigError: ``fn`` is a generator function, for which the operation
                would have to be a stream.
        """
        flags = flags_for_call(fn)
        if flags & ASYNCHRONOUS:
            call = self._async_call
        else:
            call = self._sync_call
            if flags & GENERATORS and not self.is_stream:
                raise generator_refusal(self, fn)
        if call is None:
            call = self._make_call(bool(flags & ASYNCHRONOUS))
        result: R = call(fn, args, kwargs)
        return result

    def _make_call(self, asynchronous: bool) -> Callable[..., Any]:
        call = self._call_stream
        if not self.is_stream:
            call = packed_call(self, asynchronous)
        if asynchronous:
            self._async_call = call
        else:
            self._sync_call = call
        return call

    def _call_stream(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return self(fn)(*args, **kwargs)

    # -- parts ---------------------------------------------------------------------

    @property
    def settings(self) -> Mapping[str, Any]:
        """The blocks by name, after overrides; None where one is absent."""
        return MappingProxyType(self.blocks)

    @property
    def name(self) -> str:
        """``service.operation``."""
        return f"{self.service}.{self.operation}"

    @property
    def circuit_breaker(self) -> CircuitBreakerView:
        """The circuit breaker.

        Raises:
            PolicyConfigError: the policy declares none.
        """
        if self.breaker is not None:
            return CircuitBreakerView(self.breaker)
        keyed = None if self.scopes is None else self.scopes[0]
        if keyed is None:
            raise self._undeclared("circuit_breaker")
        return KeyedCircuitBreakerView(keyed, self.settings["circuit_breaker"])

    @property
    def bulkhead(self) -> BulkheadView:
        """The bulkhead.

        Raises:
            PolicyConfigError: the policy declares none.
        """
        if self.waiters is not None:
            return BulkheadView(self.waiters)
        keyed = None if self.scopes is None else self.scopes[1]
        if keyed is None:
            raise self._undeclared("bulkhead")
        return KeyedBulkheadView(keyed, self.settings["bulkhead"])

    @property
    def rate_limit(self) -> RateLimitView:
        """The rate limit.

        Raises:
            PolicyConfigError: the policy declares none.
        """
        if self.bucket is None:
            raise self._undeclared("rate_limit")
        return RateLimitView(self.bucket)

    @property
    def retry(self) -> RetryView:
        """The retry settings and strategies.

        Raises:
            PolicyConfigError: the policy declares none.
        """
        if self.strategies is None:
            raise self._undeclared("retry")
        return RetryView(self.settings["retry"], self.strategies)

    @property
    def fallback(self) -> Fallback:
        """The fallback.

        Raises:
            PolicyConfigError: the policy declares none.
        """
        if self.answers is None:
            raise self._undeclared("fallback")
        return self.answers

    @property
    def abandoned(self) -> int:
        """Calls that exceeded their attempt timeout and still run in their thread."""
        return 0 if self._workers is None else self._workers.abandoned

    def statistics(self) -> dict[str, Any]:
        """State and counts of all parts, ready for JSON."""
        numbers: dict[str, Any] = {
            "in_use": self.gate.in_use,
            "abandoned": self.abandoned,
        }
        for name in ("circuit_breaker", "rate_limit", "bulkhead"):
            if name in self.settings:
                numbers[name] = getattr(self, name).statistics()
        tokens = self.retry_budget
        if tokens is not None:
            numbers["retry_budget"] = {
                "tokens": tokens.tokens,
                "refused": tokens.refused,
            }
        if self.meter is not None:
            numbers.update(self.meter.read().numbers())
        return numbers

    def __repr__(self) -> str:
        return f"<policy {self.name}>"

    # -- one live object for each name -------------------------------------------------

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as a name, found again among the policies of the other process."""
        if not self.service or not self.operation:
            raise TypeError("a policy without a name cannot be pickled")
        return registry_entry, (self.name,)

    # -- for the engine --------------------------------------------------------------

    @property
    def is_stream(self) -> bool:
        """Whether it guards generators instead of functions."""
        return self.blocks.get("kind") == "stream"

    @property
    def always_slow(self) -> bool:
        """Whether no call can take the fast path."""
        return (
            self.argument is not None
            or self.sending is not None
            or self.guard is not None
            or self.bucket is not None
            or self.hedges is not None
            or self.scopes is not None
            or (self.waiters is not None and self.waiters.gate is not self.gate)
        )

    @property
    def retry_budget(self) -> TokenBudget | None:
        """The tokens that retries take."""
        return None if self.strategies is None else self.strategies.budget

    @property
    def retries_for_ever(self) -> bool:
        """Whether nothing but the budget ends the retries."""
        retry = self.blocks.get("retry")
        return retry is not None and retry.max_attempts is None

    def release_slot(self) -> None:
        """Count one attempt out and serve who waits."""
        if self.waiters is not None:
            self.waiters.release()
            return
        self.gate.one_out()

    def measure(self) -> None:
        """Count calls from now on.

        Functions that are decorated already do not count by themselves; the gate stays
        flagged so that the slow side does it for them.
        """
        if self.meter is None:
            self.meter = SWITCH.meter(self.service, self.operation)
            self._async_call = self._sync_call = None
            if self.meter is not None and self.wrapped is not None:
                with self.gate.lock:
                    self.gate.add(UNUSUAL)
        self.fall_asleep()

    def fall_asleep(self) -> None:
        """Let the next call take the slow side, whose end starts the telemetry."""
        with self.gate.lock:
            if not self.asleep:
                self.asleep = True
                self.gate.add(UNUSUAL)

    def wake(self) -> None:
        """Start the telemetry of the service, after the first call."""
        with self.gate.lock:
            if not self.asleep:
                return
            self.asleep = False
            self.gate.add(-UNUSUAL)
        SWITCH.wake(self.service)

    def workers(self) -> Workers:
        """The threads for sync attempts with a limit."""
        found = self._workers
        if found is None:
            size = THREADS if self.waiters is None else self.waiters.max_concurrent
            with _making:  # one set of threads, however many ask first
                found = self._workers
                if found is None:
                    found = self._workers = Workers(self.name, size)
        return found

    def _undeclared(self, block: str) -> PolicyConfigError:
        return PolicyConfigError(
            "this policy does not declare it",
            path=block,
            help=f"add a {block} block to the operation",
            service=self.service,
            operation=self.operation,
        )

    def after_fork(self) -> None:
        """In a child process: fresh locks, no attempts inside, no threads."""
        if self.waiters is not None:
            self.waiters.after_fork()
        if self.waiters is None or self.waiters.gate is not self.gate:
            self.gate.after_fork()
        for keyed in self.scopes or ():
            if keyed is not None:
                keyed.after_fork()
        if self.breaker is not None:
            self.breaker.after_fork()
        for part in (self.bucket, self.hedges):
            if part is not None:
                part.after_fork()
        if self.retry_budget is not None:
            self.retry_budget.after_fork()
        if self._workers is not None:
            self._workers.after_fork()
        if self.service in SWITCH.services:
            self.fall_asleep()


def _after_fork_in_child() -> None:
    global _making
    _making = allocate_lock()
    registry.after_fork()
    SHARED.after_fork()
    SWITCH.after_fork()
    EVENTS.after_fork()
    for policy in [*registry.in_use(), *_nameless]:
        policy.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
