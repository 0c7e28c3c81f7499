"""The resolved patterns: one frozen class for each block of an operation.

Durations are seconds, rates are per second, ratios are 0 to 1, sizes are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class AttemptTimeout:
    """The limit of one attempt, in seconds; ``argument`` is a keyword to pass it as."""

    total: float | None
    connect: float | None = None
    first_item: float | None = None
    idle: float | None = None
    sync: Literal["thread", "cooperative"] = "thread"
    argument: str | None = None


@dataclass(frozen=True, slots=True)
class BudgetHeader:
    """A header that carries a remaining budget, in seconds or milliseconds."""

    name: str
    unit: Literal["s", "ms"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The limit of a whole call, in seconds; ``total`` None only inherits."""

    total: float | None
    inherit: bool
    reserve: float
    minimum: float
    header: BudgetHeader | None


@dataclass(frozen=True, slots=True)
class Jitter:
    """``none``, ``full``, ``equal``, ``decorrelated``, or ``ratio`` with its ratio."""

    kind: Literal["none", "full", "equal", "decorrelated", "ratio"]
    ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delay before retry i: min(max, initial x multiplier^(i-1)), then jitter."""

    initial: float
    multiplier: float
    max: float | None
    jitter: Jitter


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Honour the server's hint up to ``max`` seconds (None: no bound but the budget)."""

    max: float | None


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Retries as a share of first tries; ``floor`` is retries/s, ``burst`` a count."""

    ratio: float
    refill: Literal["success", "request"]
    floor: float
    burst: int


@dataclass(frozen=True, slots=True)
class Retry:
    """``max_attempts`` counts the first attempt; None is unlimited."""

    max_attempts: int | None
    backoff: Backoff
    retry_on: tuple[str, ...]
    never_retry_on: tuple[str, ...]
    retry_on_status: tuple[str, ...]
    never_retry_on_status: tuple[str, ...]
    retry_if: str | None
    retry_if_result: str | None
    retry_after: RetryAfter | None
    budget: RetryBudget | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long a breaker stays open, in seconds; growth and jitter per reopening."""

    initial: float
    multiplier: float
    max: float | None
    jitter: float


@dataclass(frozen=True, slots=True)
class Window:
    """A rolling window: ``seconds`` or ``calls``, exactly one of them set."""

    seconds: float | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A call over ``after`` seconds is slow; ``ratio`` of the window opens."""

    after: float
    ratio: float


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Either threshold may be None, but not all of the three trip rules.

    ``url_env`` is the environment variable with the address where store is redis.
    """

    failure_threshold: int | None
    failure_ratio: float | None
    slow_call: SlowCall | None
    window: Window
    minimum_calls: int
    recovery_timeout: Recovery
    half_open_max_calls: int
    half_open_max_wait: float
    success_threshold: int
    record_on: tuple[str, ...]
    ignore_on: tuple[str, ...]
    record_on_status: tuple[str, ...]
    ignore_on_status: tuple[str, ...]
    record_if_result: str | None
    scope: str
    max_keys: int
    store: Literal["memory", "redis"]
    mode: Literal["enforce", "observe", "forced_open", "disabled"]
    url_env: str | None = None


@dataclass(frozen=True, slots=True)
class Bulkhead:
    """At most ``max_concurrent`` attempts at once; others wait ``max_wait`` seconds."""

    max_concurrent: int
    max_queue: int
    max_wait: float
    scope: str = "operation"
    max_keys: int = 1000
    mode: Literal["enforce", "observe", "disabled"] = "enforce"


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A token bucket of ``rate`` attempts/s and ``burst`` tokens."""

    rate: float
    burst: int
    max_wait: float
    store: Literal["memory", "redis"] = "memory"
    mode: Literal["enforce", "observe", "disabled"] = "enforce"
    url_env: str | None = None


@dataclass(frozen=True, slots=True)
class Hedge:
    """Start another attempt after ``delay`` seconds; ``budget`` is a ratio."""

    delay: float
    max_hedges: int
    budget: float


@dataclass(frozen=True, slots=True)
class Fallback:
    """One of three forms; ``value`` counts only when ``kind`` is ``value``."""

    kind: Literal["value", "call", "operation"]
    value: Any
    call: str | None
    operation: str | None
    fallback_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forward:
    """The callee gets the key in a header or a keyword argument; one of them is set."""

    header: str | None = None
    argument: str | None = None


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Key paths or a callable; ttl and in_progress in seconds."""

    key: tuple[str, ...]
    key_call: str | None
    forward: Forward | None
    ttl: float
    in_progress: float | None
    on_conflict: Literal["wait", "reject"]
    store: Literal["memory", "sqlite", "redis"]
    path: str | None
    codec: str
    url_env: str | None = None
