"""Settings from the resolved values of a lock file, checked number by number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from policyctl.checks.limits import LIMITS, check_limit
from policyctl.checks.statuses import parse_status
from policyctl.runtime import settings as s
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.fields import Settings
from policyctl.units import UnitError

BLOCKS: dict[str, type[Settings]] = {
    "attempt_timeout": s.AttemptTimeout,
    "budget": s.Budget,
    "retry": s.Retry,
    "hedge": s.Hedge,
    "circuit_breaker": s.CircuitBreaker,
    "rate_limit": s.RateLimit,
    "bulkhead": s.Bulkhead,
    "idempotency": s.Idempotency,
}
"""Blocks of an operation whose fields the runtime names as the language does."""
PLAIN: dict[str, tuple[object, ...]] = {
    "kind": ("unary", "stream"),
    "idempotent": (True, False),
    "transport": ("http", "grpc", "sql", "redis", "local"),
}
"""Settings of an operation that are no blocks, and what they may be."""
_FALLBACKS: dict[str, type[Settings]] = {
    "value": s.FallbackValue,
    "call": s.FallbackCall,
    "operation": s.FallbackOperation,
}
_INNER: dict[str, type[Settings]] = {
    "budget.header": s.BudgetHeader,
    "retry.backoff": s.Backoff,
    "retry.retry_after": s.RetryAfter,
    "retry.budget": s.RetryBudget,
    "circuit_breaker.recovery_timeout": s.Recovery,
    "circuit_breaker.window": s.Window,
    "circuit_breaker.slow_call": s.SlowCall,
    "idempotency.forward": s.Forward,
}
_LEFT_OUT = frozenset(
    {"retry.max_attempts", "retry.backoff.max", "retry.retry_after.max"}
)
"""What a lock file leaves out where there is no limit, and not where it is the default."""
_INBOUND: dict[str, type[Settings]] = {
    "bulkhead": s.Bulkhead,
    "rate_limit": s.RateLimit,
    "budget": s.InboundBudget,
}


def operation_blocks(
    values: Mapping[str, Any], at: str, reasons: list[str]
) -> dict[str, Any]:
    """The arguments of ``Policy`` for an operation; what is wrong goes to ``reasons``."""
    found: dict[str, Any] = {"kind": "unary"}
    for name, words in PLAIN.items():
        value = values.get(name)
        if value is None:
            continue
        found[name] = value
        if not any(type(value) is type(word) and value == word for word in words):
            reasons.append(f"{at}.{name}: {json.dumps(value)} is not possible here")
    for name, cls in BLOCKS.items():
        if values.get(name) is not None:
            made = _checked(cls, values[name], name, at, reasons)
            if made is not None:
                found[name] = made
    if values.get("fallback") is not None:
        made = _fallback(values["fallback"], at, reasons)
        if made is not None:
            found["fallback"] = made
    return found


def inbound_blocks(
    values: Mapping[str, Any], at: str, reasons: list[str]
) -> dict[str, Any]:
    """The blocks of ``Inbound`` that there are; what is wrong goes to ``reasons``."""
    found: dict[str, Any] = {}
    for name, cls in _INBOUND.items():
        if values.get(name) is not None:
            made = _checked(cls, values[name], name, at, reasons)
            if made is not None:
                found[name] = made
    return found


def _checked(
    cls: type[Settings], values: Any, path: str, at: str, reasons: list[str]
) -> Settings | None:
    try:
        made = _make(cls, values, path)
    except (PolicyConfigError, UnitError, TypeError, ValueError) as error:
        reasons.append(f"{at}.{_reason(error, path)}")
        return None
    wrong = [f"{at}.{text}" for text in _out_of_bounds(values, path)]
    reasons += wrong
    return None if wrong else made


def _reason(error: Exception, path: str) -> str:
    if isinstance(error, PolicyConfigError):
        return f"{error.path or path}: {error.message}"
    return f"{path}: {getattr(error, 'message', None) or error}"


def _make(cls: type[Settings], values: Any, path: str) -> Settings:
    if not isinstance(values, dict):
        raise TypeError(f"{json.dumps(values)} is not an object")
    fields = cast("dict[str, Any]", values)
    made = {name: _field(value, f"{path}.{name}") for name, value in fields.items()}
    for name in cls._fields:
        if name not in cls._defaults or f"{path}.{name}" in _LEFT_OUT:
            made.setdefault(name, None)
    return cls(**made)


def _field(value: Any, path: str) -> Any:
    if path.endswith(".jitter") and isinstance(value, dict):
        spread = cast("dict[str, Any]", value)
        is_ratio = spread.get("kind") == "ratio"
        return spread.get("ratio") if is_ratio else spread.get("kind")
    if path in _INNER and value is not None:
        return _make(_INNER[path], value, path)
    return _items(value, path) if isinstance(value, list) else value


def _items(value: Any, path: str) -> tuple[Any, ...]:
    items: list[Any] = value
    if path.endswith("_status"):
        for item in items:
            parse_status(item)
    return tuple(items)


def _fallback(values: Any, at: str, reasons: list[str]) -> Settings | None:
    fields = cast("dict[str, Any]", values if isinstance(values, dict) else {})
    kind = fields.get("kind")
    cls = _FALLBACKS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        reasons.append(f"{at}.fallback: {json.dumps(kind)} is no kind of fallback")
        return None
    wanted = {str(kind): fields.get(str(kind))}
    conditions = fields.get("fallback_on")
    if conditions is not None:
        wanted["fallback_on"] = tuple(conditions)
    try:
        return cls(**wanted)
    except (PolicyConfigError, TypeError) as error:
        reasons.append(f"{at}.{_reason(error, 'fallback')}")
        return None


def _out_of_bounds(value: Any, path: str) -> Iterator[str]:
    """What the table of limits has against the numbers below ``path``."""
    if isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            yield from _out_of_bounds(item, f"{path}.{name}")
    elif path in LIMITS and isinstance(value, (int, float)):
        try:
            check_limit(path, value)
        except OverflowError:  # an int of hundreds of digits
            yield f"{path}: the number is too large"
        except UnitError as error:
            yield f"{path}: {error.message}"
