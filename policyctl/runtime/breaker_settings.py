"""The settings of a circuit breaker; ``settings`` offers them under the same names."""

from __future__ import annotations

from policyctl.runtime import fields as _f
from policyctl.runtime.fields import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    ExceptionName = str | type[BaseException]
    Predicate = str | Callable[..., object]


class Recovery(Settings):
    """How long a breaker stays open; growth and jitter per reopening."""

    initial: float = 30.0
    multiplier: float = 1.0
    max: float | None = None
    jitter: float = 0.2

    _path = "circuit_breaker.recovery_timeout"
    _checks = _f.checks(
        initial=_f.positive,
        multiplier=_f.number,
        max=_f.optional(_f.positive),
        jitter=_f.ratio,
    )

    def _finish(self, given: frozenset[str]) -> None:
        if self.multiplier < 1:
            raise _f.refuse(f"{self._path}.multiplier", f"{self.multiplier} is below 1")
        if self.max is not None and self.initial > self.max:
            raise _f.refuse(
                f"{self._path}.initial",
                f"{self.initial} s is over the max of {self.max} s",
            )


class Window(Settings):
    """A rolling window: ``seconds`` or ``calls``, exactly one of them set."""

    seconds: float | None = None
    calls: int | None = None

    _path = "circuit_breaker.window"
    _checks = _f.checks(
        seconds=_f.optional(_f.positive), calls=_f.optional(_f.count(1))
    )

    def _finish(self, given: frozenset[str]) -> None:
        if (self.seconds is None) == (self.calls is None):
            both = "neither" if self.calls is None else "both"
            raise _f.refuse(self._path, f"needs seconds or calls, has {both}")


class SlowCall(Settings):
    """A call over ``after`` seconds is slow; ``ratio`` of the window opens."""

    after: float
    ratio: float

    _path = "circuit_breaker.slow_call"
    _checks = _f.checks(after=_f.positive, ratio=_f.ratio)

    def _finish(self, given: frozenset[str]) -> None:
        if not self.ratio:
            raise _f.refuse(f"{self._path}.ratio", "0.0 would always open")


class CircuitBreaker(Settings):
    """When to stop calling. Without any trip rule, failure_threshold is 5."""

    failure_threshold: int | None = None
    failure_ratio: float | None = None
    slow_call: SlowCall | None = None
    window: Window = Window(seconds=30.0)
    minimum_calls: int = 20
    recovery_timeout: Recovery = Recovery()
    half_open_max_calls: int = 1
    half_open_max_wait: float = 60.0
    success_threshold: int = 2
    record_on: tuple[ExceptionName, ...] = ("Exception",)
    ignore_on: tuple[ExceptionName, ...] = ()
    record_on_status: tuple[str, ...] = ()
    ignore_on_status: tuple[str, ...] = ()
    record_if_result: Predicate | None = None
    scope: str = "operation"
    max_keys: int = 1000
    store: Literal["memory", "redis"] = "memory"
    mode: Literal["enforce", "observe", "forced_open", "disabled"] = "enforce"
    url_env: str | None = None

    _path = "circuit_breaker"
    _checks = _f.checks(
        failure_threshold=_f.optional(_f.count(1)),
        failure_ratio=_f.optional(_f.ratio),
        slow_call=_f.optional(_f.instance(SlowCall)),
        window=_f.instance(Window),
        minimum_calls=_f.count(1),
        recovery_timeout=_f.instance(Recovery),
        half_open_max_calls=_f.count(1),
        half_open_max_wait=_f.positive,
        success_threshold=_f.count(1),
        record_on=_f.exceptions,
        ignore_on=_f.exceptions,
        record_on_status=_f.words,
        ignore_on_status=_f.words,
        record_if_result=_f.optional(_f.callable_name),
        scope=_f.text,
        max_keys=_f.count(1),
        store=_f.choice("memory", "redis"),
        mode=_f.choice("enforce", "observe", "forced_open", "disabled"),
        url_env=_f.optional(_f.text),
    )

    def _finish(self, given: frozenset[str]) -> None:
        rules = (self.failure_threshold, self.failure_ratio, self.slow_call)
        if all(rule is None for rule in rules):
            self._set("failure_threshold", 5)
        if self.failure_ratio == 0:
            raise _f.refuse("circuit_breaker.failure_ratio", "0.0 would always open")
        calls = self.window.calls
        if calls is not None and "minimum_calls" not in given:
            self._set("minimum_calls", min(self.minimum_calls, calls))
        if calls is not None and self.minimum_calls > calls:
            raise _f.refuse(
                "circuit_breaker.minimum_calls",
                f"{self.minimum_calls} is over the window of {calls} calls",
                "raise the window or lower minimum_calls",
            )
        self._set("url_env", _f.store_address(self._path, self.store, self.url_env))
