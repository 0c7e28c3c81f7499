"""purgatory: circuit breakers by name, one factory for async and one for sync."""

from __future__ import annotations

from importlib import import_module
from itertools import count
from typing import Any

from benchmarks.libraries._adapter import FAILURES, RECOVERY, Function, Library

_numbers = count()


def adapter() -> Library:
    """The adapter; ImportError where the library is not installed."""
    purgatory: Any = import_module("purgatory")
    model: Any = import_module("purgatory.domain.model")

    def with_factory(factory: Any, fn: Function, recovery: float) -> Function:
        breakers = factory(default_threshold=FAILURES, default_ttl=recovery)
        guarded: Function = breakers(f"breaker{next(_numbers)}")(fn)
        return guarded

    def breaker_async(fn: Function, recovery: float) -> Function:
        return with_factory(purgatory.AsyncCircuitBreakerFactory, fn, recovery)

    def breaker_sync(fn: Function, recovery: float) -> Function:
        return with_factory(purgatory.SyncCircuitBreakerFactory, fn, recovery)

    return Library(
        name="purgatory",
        layers="breaker",
        layers_sync="breaker",
        opened=model.OpenedState,
        stack_async=lambda fn: breaker_async(fn, RECOVERY),
        stack_sync=lambda fn: breaker_sync(fn, RECOVERY),
        breaker_async=breaker_async,
        breaker_sync=breaker_sync,
        lacks=("retry, bulkhead, attempt timeout: a circuit breaker library",),
    )
