"""Every number of a policy: its kind and bounds, and its environment variable.

One table serves the model, which checks the YAML, and the runtime, which checks
overrides at start-up. Paths are the dotted long-form paths inside an operation (or
``inbound``) or a queue; facts and call edges have a prefix of their own and cannot
be overridden.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from policyctl.units import (
    DAY,
    MAX_DURATION,
    MAX_RATE,
    MAX_SIZE,
    UnitError,
    format_duration,
    format_rate,
    format_ratio,
    format_size,
    parse_duration,
    parse_rate,
    parse_ratio,
    parse_size,
    quote,
)

Kind = Literal["duration", "rate", "ratio", "size", "count", "number"]
UNLIMITED = "unlimited"

_TINY = 1e-6
_YEAR = 366 * DAY
_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Limit:
    """What a key may hold: ``minimum`` and ``maximum`` included, in base units.

    ``word`` is a word that may stand for a number (``unlimited``). ``override`` says
    whether an environment variable may change the value at start-up. ``none`` is how to
    say in YAML that there is to be none of it, where zero is no such way.
    """

    kind: Kind
    minimum: float
    maximum: float
    override: bool = True
    word: str | None = None
    none: str | None = None


_OFF = "off for no limit"
_RULE = "off for no such rule"
_span = Limit("duration", _TINY, MAX_DURATION)
_cap = Limit("duration", _TINY, MAX_DURATION, none=_OFF)
_wait = Limit("duration", 0, MAX_DURATION)
_keep = Limit("duration", _TINY, _YEAR)
_count = Limit("count", 1, _MANY)
_count0 = Limit("count", 0, _MANY)
_share = Limit("ratio", _TINY, 1)
_keys = Limit("count", 1, 10_000_000)
_items = Limit("count", 1, 1_000_000_000)
_factor = Limit("number", 1, 1000, override=False)
_spread = Limit("ratio", 0, 1, override=False)
_fact_span = Limit("duration", 0, _YEAR, override=False)
_fact_count = Limit("count", 1, _MANY, override=False)
_fact_fleet = Limit("count", 1, 1_000_000_000, override=False)
_fact_ratio = Limit("ratio", 0, 1, override=False)
_fact_rate = Limit("rate", 0, MAX_RATE, override=False)
_fact_flow = Limit("rate", _TINY, MAX_RATE, override=False)

LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "attempt_timeout.total": _cap,
        "attempt_timeout.connect": _cap,
        "attempt_timeout.first_item": _cap,
        "attempt_timeout.idle": _cap,
        "budget.total": _cap,
        "budget.reserve": _wait,
        "budget.minimum": _wait,
        "budget.default": _cap,
        "budget.max": _cap,
        "retry.max_attempts": Limit(
            "count", 1, _MANY, word=UNLIMITED, none="1 for no retry"
        ),
        "retry.backoff.initial": _wait,
        "retry.backoff.multiplier": _factor,
        "retry.backoff.max": _wait,
        "retry.backoff.jitter.ratio": _spread,
        "retry.retry_after.max": _wait,
        "retry.budget.ratio": Limit("ratio", 0, 1),
        "retry.budget.floor": Limit("rate", 0, MAX_RATE),
        "retry.budget.burst": _count0,
        "circuit_breaker.failure_threshold": Limit("count", 1, _MANY, none=_RULE),
        "circuit_breaker.failure_ratio": Limit("ratio", _TINY, 1, none=_RULE),
        "circuit_breaker.slow_call.after": _span,
        "circuit_breaker.slow_call.ratio": _share,
        "circuit_breaker.window.seconds": Limit("duration", 0.001, MAX_DURATION),
        "circuit_breaker.window.calls": _count,
        "circuit_breaker.minimum_calls": _count,
        "circuit_breaker.recovery_timeout.initial": _span,
        "circuit_breaker.recovery_timeout.multiplier": _factor,
        "circuit_breaker.recovery_timeout.max": _cap,
        "circuit_breaker.recovery_timeout.jitter": _spread,
        "circuit_breaker.half_open_max_calls": _count,
        "circuit_breaker.half_open_max_wait": _span,
        "circuit_breaker.success_threshold": _count,
        "circuit_breaker.max_keys": _keys,
        "bulkhead.max_concurrent": Limit("count", 1, _MANY, none="bulkhead: off"),
        "bulkhead.max_queue": _count0,
        "bulkhead.max_wait": _wait,
        "bulkhead.max_keys": _keys,
        "rate_limit.rate": Limit("rate", _TINY, MAX_RATE, none="rate_limit: off"),
        "rate_limit.burst": _items,
        "rate_limit.max_wait": _wait,
        "hedge.delay": _wait,
        "hedge.max_hedges": Limit("count", 1, 100, none="hedge: off"),
        "hedge.budget": Limit("ratio", _TINY, 1, none="hedge: off"),
        "idempotency.ttl": _keep,
        "idempotency.in_progress": _span,
        "max_size": _items,
        "max_bytes": Limit("size", 1, MAX_SIZE, none=_OFF),
        "max_age": Limit("duration", _TINY, _YEAR, none=_OFF),
        "warn_at": _share,
        "lease": _span,
        "max_deliveries": Limit("count", 1, _MANY, none=_OFF),
        "redelivery.initial": _wait,
        "redelivery.multiplier": _factor,
        "redelivery.max": _wait,
        "redelivery.jitter.ratio": _spread,
        "dead_letter.max_size": Limit(
            "count", 1, 1_000_000_000, none="dead_letter: off"
        ),
        "consume.concurrency": _count,
        "upload.batch": _count,
        "upload.interval": _span,
        "upload.drain": _wait,
        "telemetry.heartbeat": Limit("duration", 0.001, DAY, override=False),
        "calls.per_request": Limit("number", 0, _MANY, override=False),
        "facts.rate": _fact_rate,
        "facts.callers": _fact_fleet,
        "facts.latency": _fact_span,
        "facts.failure_ratio": _fact_ratio,
        "facts.instances": _fact_fleet,
        "facts.workers": _fact_count,
        "facts.capacity": _fact_flow,
        "facts.objective": Limit("duration", _TINY, _YEAR, override=False),
        "facts.pool.max": _fact_count,
        "facts.pool.acquire_timeout": _fact_span,
        "facts.shards": _fact_count,
        "facts.cache.hit_ratio": _fact_ratio,
        "facts.layers.max_attempts": _fact_count,
        "facts.autoscale.target": Limit("number", 0, 1e9, override=False),
        "facts.reconnect.delay": _fact_span,
        "facts.reconnect.window": _fact_span,
        "facts.reconnect.accept_rate": _fact_flow,
    }
)

_SHORT_FORMS = (
    "attempt_timeout.total",
    "budget.total",
    "circuit_breaker.recovery_timeout.initial",
    "circuit_breaker.window.seconds",
    "circuit_breaker.window.calls",
)
_INTEGER = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")


def check_limit(path: str, number: float) -> None:
    """Check a number in base units against the bounds of its key.

    Raises:
        UnitError: ``number`` is not finite or out of bounds.
        KeyError: ``path`` is not in ``LIMITS``.
    """
    check_bounds(LIMITS[path], number)


def check_bounds(
    limit: Limit, number: float, shown: object = None, none: str | None = None
) -> None:
    """Check a number in base units against ``limit``; ``shown`` is what was written.

    ``none`` is how one says there that there is to be none of it.

    Raises:
        UnitError: ``number`` is not finite or out of bounds.
    """
    if limit.minimum <= number <= limit.maximum:
        return
    text = quote(show(limit.kind, number) if shown is None else shown)
    if number != number or math.isinf(number):
        raise UnitError(f"{text} is not a finite number", "write a plain number")
    if number < 0:
        raise UnitError(
            f"{text} is negative", f"write at least {show(limit.kind, limit.minimum)}"
        )
    if number > limit.maximum:
        most = show(limit.kind, limit.maximum)
        raise UnitError(f"{text} is over {most}", f"write at most {most}")
    if number == 0:
        raise UnitError(
            f"{text} is not possible here",
            _more_than_zero(limit, text.strip("`"), none),
        )
    least = show(limit.kind, limit.minimum)
    raise UnitError(f"{text} is under {least}", f"write at least {least}")


def _more_than_zero(limit: Limit, zero: str, none: str | None) -> str:
    least = "at least 1" if limit.minimum == 1 else f"more than {zero}"
    if none is not None and none.startswith("1 "):
        return f"write {none}"
    return f"write {least}, or {none}" if none else f"write {least}"


def show(kind: Kind, number: float) -> str:
    """The text of a number in base units, as a policy would write it."""
    if number != number or math.isinf(number) or number < 0:
        return format(number, "g")
    if kind == "duration":
        return format_duration(number)
    if kind == "rate":
        return format_rate(number)
    if kind == "ratio":
        return format_ratio(number)
    if kind == "size":
        return format_size(int(number))
    if float(number).is_integer():
        return str(int(number)) if number < 1e15 else format(float(number), ".3g")
    return format(number, "g")


def parse_limit(path: str, text: str) -> float | int | str:
    """Return the number, in base units, that ``text`` gives for the key ``path``.

    The text is what a policy file would hold: ``30s``, ``100/s``, ``50%``, ``10MiB``,
    ``20``; ``retry.max_attempts`` may be ``unlimited``.

    Raises:
        UnitError: the text has another form or the number is out of bounds.
        KeyError: ``path`` is not in ``LIMITS``.
    """
    limit = LIMITS[path]
    text = text.strip()
    if limit.word is not None and text == limit.word:
        return text
    if path.endswith("window.calls"):
        text = re.sub(r" calls?$", "", text)
    if text == "off":
        raise UnitError(
            "`off` is not a value of an override",
            "write a number; what is to be off is switched off in the policy",
        )
    number = _PARSERS[limit.kind](text, limit)
    check_bounds(limit, number, text)
    return number


def _parse_count(text: str, limit: Limit) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise UnitError(
            f"{quote(text)} is not a whole number",
            f"write for example {max(int(limit.minimum), 3)}",
        )
    return int(text)


def _parse_number(text: str, _limit: Limit) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise UnitError(f"{quote(text)} is not a number", "write for example 2 or 1.5")
    return float(text)


def _parse_duration(text: str, limit: Limit) -> float:
    return parse_duration(text, maximum=limit.maximum)


_PARSERS: Mapping[Kind, Callable[[str, Limit], float]] = {
    "duration": _parse_duration,
    "rate": lambda text, _limit: parse_rate(text),
    "ratio": lambda text, _limit: parse_ratio(text),
    "size": lambda text, _limit: parse_size(text),
    "count": _parse_count,
    "number": _parse_number,
}


def override_name(service: str, owner: str, path: str) -> str:
    """The environment variable that overrides a limit at start-up.

    ``owner`` is the operation, the queue or ``inbound``; ``path`` is a dotted path of
    ``LIMITS``. What a short form leaves out, the name leaves out too:
    ``PAYMENT_API_CHARGE_ATTEMPT_TIMEOUT``.
    """
    if path in _SHORT_FORMS:
        path = path.rpartition(".")[0]
    return "_".join((service, owner, path.replace(".", "_"))).upper()
