"""The settings of a policy, block by block, as generated code spells them.

Every class is immutable, takes keywords alone, has the field names of the language and
its defaults, and refuses a wrong number with ``PolicyConfigError``. Durations are
seconds, rates are per second, ratios are 0 to 1.
"""

from __future__ import annotations

from policyctl.runtime import fields as _f
from policyctl.runtime.breaker_settings import CircuitBreaker as CircuitBreaker
from policyctl.runtime.breaker_settings import Recovery as Recovery
from policyctl.runtime.breaker_settings import SlowCall as SlowCall
from policyctl.runtime.breaker_settings import Window as Window
from policyctl.runtime.fields import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    ExceptionName = str | type[BaseException]
    Predicate = str | Callable[..., object]

CONDITIONS = ("not_sent", "connection_lost", "timeout")


class AttemptTimeout(Settings):
    """The limit of one attempt; ``argument`` is a keyword to pass it on as."""

    total: float | None
    connect: float | None = None
    first_item: float | None = None
    idle: float | None = None
    sync: Literal["thread", "cooperative"] = "thread"
    argument: str | None = None

    _path = "attempt_timeout"
    _checks = _f.checks(
        total=_f.optional(_f.positive),
        connect=_f.optional(_f.positive),
        first_item=_f.optional(_f.positive),
        idle=_f.optional(_f.positive),
        sync=_f.choice("thread", "cooperative"),
        argument=_f.optional(_f.text),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if self.argument is not None and not _is_parameter(self.argument):
            raise _f.refuse(
                "attempt_timeout.argument", f"{self.argument!r} names no parameter"
            )
        total = self.total
        if total is None:
            if self.connect is None and self.first_item is None and self.idle is None:
                raise _f.refuse("attempt_timeout", "no limit is given")
            return
        for name in ("connect", "first_item"):
            part = getattr(self, name)
            if part is not None and part > total:
                raise _f.refuse(
                    f"attempt_timeout.{name}",
                    f"{part} s is over the total of {total} s",
                )


def _is_parameter(name: str) -> bool:
    from keyword import iskeyword

    return name.isidentifier() and not iskeyword(name)


class BudgetHeader(Settings):
    """A header that carries a remaining budget, in seconds or milliseconds."""

    name: str
    unit: Literal["s", "ms"] = "s"

    _path = "budget.header"
    _checks = _f.checks(name=_f.text, unit=_f.choice("s", "ms"))


class Budget(Settings):
    """The limit of a whole call; ``total`` None only takes over what the caller has."""

    total: float | None
    inherit: bool = True
    reserve: float = 0.0
    minimum: float = 0.0
    header: BudgetHeader | None = None

    _path = "budget"
    _checks = _f.checks(
        total=_f.optional(_f.positive),
        inherit=_f.flag,
        reserve=_f.duration,
        minimum=_f.duration,
        header=_f.optional(_f.instance(BudgetHeader)),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if self.total is None:
            return
        for name in ("reserve", "minimum"):
            part = getattr(self, name)
            if part >= self.total:
                raise _f.refuse(
                    f"budget.{name}",
                    f"{part} s leaves nothing of the total of {self.total} s",
                )


class Backoff(Settings):
    """Delay before retry i: min(max, initial x multiplier^(i-1)), then jitter."""

    initial: float = 0.1
    multiplier: float = 2.0
    max: float | None = 5.0
    jitter: Literal["none", "full", "equal", "decorrelated"] | float = "full"

    _path = "retry.backoff"
    _checks = _f.checks(
        initial=_f.duration,
        multiplier=_f.number,
        max=_f.optional(_f.duration),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if self.multiplier < 1:
            raise _f.refuse("retry.backoff.multiplier", f"{self.multiplier} is below 1")
        if self.max is not None and self.initial > self.max:
            raise _f.refuse(
                "retry.backoff.initial",
                f"{self.initial} s is over the max of {self.max} s",
            )
        self._set("jitter", _jitter("retry.backoff.jitter", self.jitter))


def _jitter(path: str, value: Any) -> Any:
    if isinstance(value, str):
        return _f.choice("none", "full", "equal", "decorrelated")(path, value)
    return _f.ratio(path, value)


class RetryAfter(Settings):
    """Honour the server's hint up to ``max`` seconds (None: no bound but the budget)."""

    max: float | None = 10.0

    _path = "retry.retry_after"
    _checks = _f.checks(max=_f.optional(_f.duration))


class RetryBudget(Settings):
    """Retries as a share of first tries; ``floor`` is retries/s, ``burst`` a count."""

    ratio: float = 0.1
    refill: Literal["success", "request"] = "success"
    floor: float = 0.1
    burst: int = 10

    _path = "retry.budget"
    _checks = _f.checks(
        ratio=_f.ratio,
        refill=_f.choice("success", "request"),
        floor=_f.duration,
        burst=_f.count(0),
    )


class Retry(Settings):
    """When to try again. ``max_attempts`` counts the first; None is unlimited."""

    max_attempts: int | None = 3
    backoff: Backoff = Backoff()
    retry_on: tuple[ExceptionName, ...] = ("not_sent",)
    never_retry_on: tuple[ExceptionName, ...] = ()
    retry_on_status: tuple[str, ...] = ()
    never_retry_on_status: tuple[str, ...] = ()
    retry_if: Predicate | None = None
    retry_if_result: Predicate | None = None
    retry_after: RetryAfter | None = None
    budget: RetryBudget | None = None

    _path = "retry"
    _checks = _f.checks(
        max_attempts=_f.optional(_f.count(1)),
        backoff=_f.instance(Backoff),
        retry_on=_f.exceptions,
        never_retry_on=_f.exceptions,
        retry_on_status=_f.words,
        never_retry_on_status=_f.words,
        retry_if=_f.optional(_f.callable_name),
        retry_if_result=_f.optional(_f.callable_name),
        retry_after=_f.optional(_f.instance(RetryAfter)),
        budget=_f.optional(_f.instance(RetryBudget)),
    )


_MODES = ("enforce", "observe", "disabled")


class Bulkhead(Settings):
    """At most ``max_concurrent`` attempts at once; others wait ``max_wait`` seconds.

    ``max_queue`` (places to wait) is ``max_concurrent`` unless given.
    """

    max_concurrent: int
    max_queue: int = 0
    max_wait: float = 0.0
    scope: str = "operation"
    max_keys: int = 1000
    mode: Literal["enforce", "observe", "disabled"] = "enforce"

    _path = "bulkhead"
    _checks = _f.checks(
        max_concurrent=_f.count(1),
        max_queue=_f.count(0),
        max_wait=_f.duration,
        scope=_f.text,
        max_keys=_f.count(1),
        mode=_f.choice(*_MODES),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if "max_queue" not in given:
            self._set("max_queue", self.max_concurrent)


class RateLimit(Settings):
    """A token bucket of ``rate`` attempts/s; ``burst`` is one second's worth."""

    rate: float
    burst: int = 1
    max_wait: float = 0.0
    store: Literal["memory", "redis"] = "memory"
    mode: Literal["enforce", "observe", "disabled"] = "enforce"
    url_env: str | None = None

    _path = "rate_limit"
    _checks = _f.checks(
        rate=_f.positive,
        burst=_f.count(1),
        max_wait=_f.duration,
        store=_f.choice("memory", "redis"),
        mode=_f.choice(*_MODES),
        url_env=_f.optional(_f.text),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if "burst" not in given:
            self._set("burst", max(1, -int(-self.rate // 1)))
        self._set("url_env", _f.store_address(self._path, self.store, self.url_env))


class Hedge(Settings):
    """Start another attempt after ``delay`` seconds; ``budget`` is a ratio."""

    delay: float
    max_hedges: int = 1
    budget: float = 0.02

    _path = "hedge"
    _checks = _f.checks(delay=_f.duration, max_hedges=_f.count(1), budget=_f.ratio)


class FallbackValue(Settings):
    """Answer with a value, copied for each call.

    ``fallback_on`` None means recorded failures, rejections and timeouts.
    """

    value: Any
    fallback_on: tuple[ExceptionName, ...] | None = None

    _path = "fallback"
    _shares = False
    _checks = _f.checks(fallback_on=_f.optional(_f.exceptions))


class FallbackCall(Settings):
    """Answer with what a function returns for the same arguments."""

    call: Predicate
    fallback_on: tuple[ExceptionName, ...] | None = None

    _path = "fallback"
    _checks = _f.checks(call=_f.callable_name, fallback_on=_f.optional(_f.exceptions))


class FallbackOperation(Settings):
    """Answer with another operation (``service.operation``) of the registry."""

    operation: str
    fallback_on: tuple[ExceptionName, ...] | None = None

    _path = "fallback"
    _checks = _f.checks(operation=_f.text, fallback_on=_f.optional(_f.exceptions))


class Forward(Settings):
    """The callee gets the key in a header or a keyword argument; one of them is set."""

    header: str | None = None
    argument: str | None = None

    _path = "idempotency.forward"
    _checks = _f.checks(header=_f.optional(_f.text), argument=_f.optional(_f.text))

    def _finish(self, given: frozenset[str]) -> None:
        if (self.header is None) == (self.argument is None):
            both = "neither" if self.header is None else "both"
            raise _f.refuse(self._path, f"needs header or argument, has {both}")


class Idempotency(Settings):
    """One effect per key. ``key`` are argument paths, or ``key_call`` computes it."""

    key: tuple[str, ...] = ()
    key_call: Predicate | None = None
    forward: Forward | None = None
    ttl: float = 86400.0
    in_progress: float | None = None
    on_conflict: Literal["wait", "reject"] = "wait"
    store: Literal["memory", "sqlite", "redis"] = "memory"
    path: str | None = None
    codec: str = "json"
    url_env: str | None = None

    _path = "idempotency"
    _checks = _f.checks(
        key=_f.words,
        key_call=_f.optional(_f.callable_name),
        forward=_f.optional(_f.instance(Forward)),
        ttl=_f.positive,
        in_progress=_f.optional(_f.positive),
        on_conflict=_f.choice("wait", "reject"),
        store=_f.choice("memory", "sqlite", "redis"),
        path=_f.optional(_f.text),
        codec=_f.text,
        url_env=_f.optional(_f.text),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if bool(self.key) == (self.key_call is not None):
            both = "both" if self.key else "neither"
            raise _f.refuse("idempotency.key", f"needs key or key_call, has {both}")
        if (self.store == "sqlite") != (self.path is not None):
            raise _f.refuse(
                "idempotency.path", f"{self.path!r} does not go with store {self.store}"
            )
        self._set("url_env", _f.store_address(self._path, self.store, self.url_env))


class InboundBudget(Settings):
    """What a request without a header gets, and the most it may ask for."""

    default: float | None = None
    max: float | None = None
    header: BudgetHeader | None = None

    _path = "inbound.budget"
    _checks = _f.checks(
        default=_f.optional(_f.positive),
        max=_f.optional(_f.positive),
        header=_f.optional(_f.instance(BudgetHeader)),
    )

    def _finish(self, given: frozenset[str]) -> None:
        default, most = self.default, self.max
        if default is not None and most is not None and default > most:
            raise _f.refuse(
                "inbound.budget.default", f"{default} s is over the max of {most} s"
            )
