"""What an adapter of a library offers to the comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Function = Callable[..., Any]
Wrap = Callable[[Function], Function]
WrapBreaker = Callable[[Function, float], Function]
WrapBulkhead = Callable[[Function, int], Function]

ATTEMPTS = 3
FAILURES = 5
"""Failures in a row that open every breaker here."""
SLOTS = 100
TIMEOUT = 5.0
RECOVERY = 30.0


@dataclass(frozen=True)
class Library:
    """One library: how its users write what is compared.

    Each wrapper takes a function and gives the guarded one; those named ``_async`` get
    coroutine functions. None stands for what the library does not have, and ``lacks``
    says why. All retry ``ConnectionError`` three times without waits; breakers open
    after ``FAILURES`` of them and let one probe through where that can be chosen.

    Attributes:
        layers: what the async stack is made of.
        layers_sync: the same for the sync stack.
        opened: the error of a breaker that is open.
    """

    name: str
    layers: str
    layers_sync: str
    opened: type[BaseException] | None = None
    stack_async: Wrap | None = None
    stack_sync: Wrap | None = None
    retry_async: Wrap | None = None
    retry_sync: Wrap | None = None
    breaker_async: WrapBreaker | None = None
    breaker_sync: WrapBreaker | None = None
    bulkhead_async: WrapBulkhead | None = None
    lacks: tuple[str, ...] = field(default=())
