"""``circuit_breaker``: when to stop calling, and how to find out that all is well."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Off, Settings, setting, show_value
from policyctl.model.kinds import Callable, Exceptions, Scope, Statuses, Store
from policyctl.model.scalars import CheckError, Choice, Number, bare, is_number
from policyctl.units import UnitError, parse_window, quote


class SlowCall(Settings):
    """Slow calls that open the breaker."""

    after: Annotated[float | Off | None, Number("circuit_breaker.slow_call.after")] = (
        setting("A call that takes longer than this, without waits, is slow.", "2s")
    )
    ratio: Annotated[float | Off | None, Number("circuit_breaker.slow_call.ratio")] = (
        setting("The share of slow calls in the window that opens the breaker.", "80%")
    )


class Window(Settings):
    """The calls that ratios are taken over: by time or by number."""

    seconds: Annotated[
        float | None, Number("circuit_breaker.window.seconds", off=False)
    ] = setting("A rolling window of this length.", "30s")
    calls: Annotated[int | None, Number("circuit_breaker.window.calls", off=False)] = (
        setting("The last so many calls.", 100)
    )


def expand_window(value: object) -> dict[str, object]:
    """Expand the short form: ``30s`` is seconds, ``100 calls`` is calls."""
    if is_number(value):
        hint = f"write {bare(value)}s or {bare(value)} calls"
        raise CheckError("invalid-duration", f"{quote(value)} has no unit", hint)
    if not isinstance(value, str):
        message = f"{show_value(value)} is not a window"
        raise CheckError("invalid-duration", message, "write 30s or 100 calls")
    try:
        window = parse_window(value)
    except UnitError as error:
        raise CheckError("invalid-duration", error.message, error.lazy_hint) from None
    return {"calls": window["calls"]} if "calls" in window else {"seconds": value}


class RecoveryTimeout(Settings):
    """How long the breaker stays open, and how that grows."""

    initial: Annotated[
        float | Off | None, Number("circuit_breaker.recovery_timeout.initial")
    ] = setting("How long it stays open the first time.", "30s", default="30s")
    multiplier: Annotated[
        float | Off | None, Number("circuit_breaker.recovery_timeout.multiplier")
    ] = setting(
        "What the time is multiplied by each time that a probe fails.", 2, default=1
    )
    max: Annotated[
        float | Off | None, Number("circuit_breaker.recovery_timeout.max")
    ] = setting("It never stays open longer than this at a stretch.", "10m")
    jitter: Annotated[
        float | Off | None, Number("circuit_breaker.recovery_timeout.jitter")
    ] = setting(
        "The share that the time may deviate by, so that clients do not probe in step.",
        "20%",
        default="20%",
    )


def expand_recovery(value: object) -> dict[str, object]:
    """Expand the short form: ``30s`` is ``{initial: 30s}``."""
    return {"initial": value}


class CircuitBreaker(Settings):
    """When calls are stopped, and how the callee is probed."""

    failure_threshold: Annotated[
        int | Off | None, Number("circuit_breaker.failure_threshold")
    ] = setting(
        "Consecutive failures that open it.",
        5,
        by_default="5 where no other rule opens it",
    )
    failure_ratio: Annotated[
        float | Off | None, Number("circuit_breaker.failure_ratio")
    ] = setting(
        "The share of failures in the window that opens it, once minimum_calls have "
        "completed.",
        "50%",
    )
    slow_call: Annotated[SlowCall | Off | None, Block(SlowCall)] = setting(
        "Open on slow calls too.", {"after": "2s", "ratio": "80%"}
    )
    window: Annotated[Window | Off | None, Block(Window, expand_window)] = setting(
        "What ratios are taken over: a time, or a number of calls.",
        "30s",
        "100 calls",
        by_default="the larger of 30s and twice attempt_timeout",
    )
    minimum_calls: Annotated[
        int | Off | None, Number("circuit_breaker.minimum_calls")
    ] = setting(
        "Ratios count only once so many calls of the window have completed.",
        20,
        by_default="20, or the window where that is fewer calls",
    )
    recovery_timeout: Annotated[
        RecoveryTimeout | Off | None, Block(RecoveryTimeout, expand_recovery)
    ] = setting("How long it stays open before a probe is let through.", "30s")
    half_open_max_calls: Annotated[
        int | Off | None, Number("circuit_breaker.half_open_max_calls")
    ] = setting("Probes in flight at once while half open.", 1, default=1)
    half_open_max_wait: Annotated[
        float | Off | None, Number("circuit_breaker.half_open_max_wait")
    ] = setting(
        "A probe in flight for longer counts as a failure.", "60s", default="60s"
    )
    success_threshold: Annotated[
        int | Off | None, Number("circuit_breaker.success_threshold")
    ] = setting("Consecutive good probes that close it.", 2, default=2)
    record_on: Exceptions = setting(
        "Exceptions and portable conditions that count as failures.",
        ["not_sent", "connection_lost", "timeout"],
        by_default="the three conditions; Exception where transport is local or absent",
    )
    ignore_on: Exceptions = setting(
        "Exceptions that are neither success nor failure.", ["ValueError"]
    )
    record_on_status: Statuses = setting(
        "Statuses that count as failures.",
        ["500-599"],
        by_default="408, 429 and 500-599 for http, otherwise none",
    )
    ignore_on_status: Statuses = setting(
        "Statuses that are neither success nor failure.",
        [429],
        by_default="400-499 but 408 and 429 for http, otherwise none",
    )
    record_if_result: Callable = setting(
        "A predicate over the result: true means failure.", "my_app.rules:is_error"
    )
    scope: Scope = setting(
        "What shares one breaker: each operation, the service, or each value of an "
        "argument.",
        "operation",
        "service",
        "argument:tenant",
        default="operation",
    )
    max_keys: Annotated[int | Off | None, Number("circuit_breaker.max_keys")] = setting(
        "Argument scope: the most breakers kept; idle ones go first.",
        1000,
        default=1000,
    )
    store: Store = setting(
        "Where its state lives: in each process, or shared in Redis.",
        "memory",
        "redis",
        default="memory",
    )
    mode: Annotated[
        str | None, Choice(("enforce", "observe", "forced_open", "disabled"))
    ] = setting(
        "observe moves and counts as enforce does but rejects nobody.",
        "enforce",
        "observe",
        "forced_open",
        "disabled",
        default="enforce",
    )


CIRCUIT_BREAKER = Block(CircuitBreaker)
