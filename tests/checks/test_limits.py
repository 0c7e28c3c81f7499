"""Bounds of every number, their texts, and the names of their overrides."""

from __future__ import annotations

import math

import pytest

from policyctl.checks.limits import (
    LIMITS,
    check_limit,
    override_name,
    parse_limit,
    show,
)
from policyctl.units import UnitError


@pytest.mark.parametrize("path", LIMITS)
def test_every_bound_is_finite_and_can_be_written(path: str) -> None:
    """Both bounds of every key parse back from their own text."""
    limit = LIMITS[path]
    assert 0 <= limit.minimum < limit.maximum < math.inf
    for bound in (limit.minimum, limit.maximum):
        assert parse_limit(path, show(limit.kind, bound)) == bound


@pytest.mark.parametrize("path", LIMITS)
def test_no_key_takes_a_number_without_bounds(path: str) -> None:
    """NaN, infinity, negative and huge numbers are refused by every key."""
    for number in (math.nan, math.inf, -math.inf, -1.0, 1e30):
        with pytest.raises(UnitError):
            check_limit(path, number)


@pytest.mark.parametrize("path", LIMITS)
def test_no_key_takes_a_text_that_is_no_number(path: str) -> None:
    """What an environment variable may hold by mistake is refused by every key."""
    for text in ("", "nan", "inf", "-1", "1e999", "true", "10" * 20, "٣"):
        with pytest.raises(UnitError) as caught:
            parse_limit(path, text)
        assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("path", "text", "number"),
    [
        ("attempt_timeout.total", "2.5s", 2.5),
        ("retry.max_attempts", "4", 4),
        ("retry.max_attempts", "unlimited", "unlimited"),
        ("circuit_breaker.failure_ratio", "25%", 0.25),
        ("circuit_breaker.failure_ratio", "0.25", 0.25),
        ("circuit_breaker.window.calls", "50 calls", 50),
        ("circuit_breaker.window.calls", "50", 50),
        ("circuit_breaker.window.seconds", "10s", 10.0),
        ("rate_limit.rate", "600/m", 10.0),
        ("max_bytes", "1MiB", 1048576),
        ("max_age", "60d", 5184000.0),
        ("max_size", " 100 ", 100),
        ("facts.callers", "1000000000", 1_000_000_000),
        ("facts.instances", "1000000000", 1_000_000_000),
    ],
)
def test_an_override_is_read_like_the_policy(
    path: str, text: str, number: float | str
) -> None:
    """Texts of all kinds give the number in base units."""
    assert parse_limit(path, text) == number


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("attempt_timeout.total", "30", "`30` has no unit; write 30s or 30ms"),
        (
            "attempt_timeout.total",
            "0s",
            "`0s` is not possible here; write more than 0s",
        ),
        ("attempt_timeout.total", "31d", "`31d` is over 30d; write at most 30d"),
        (
            "bulkhead.max_concurrent",
            "2.5",
            "`2.5` is not a whole number; write for example 3",
        ),
        (
            "retry.max_attempts",
            "many",
            "`many` is not a whole number; write for example 3",
        ),
        (
            "hedge.max_hedges",
            "101",
            "`101` is over 100; write at most 100",
        ),
        (
            "circuit_breaker.window.seconds",
            "1us",
            "`1us` is under 1ms; write at least 1ms",
        ),
        ("warn_at", "150%", "`150%` is over 100%; write at most 100%"),
    ],
)
def test_a_wrong_override_says_what_is_wrong(
    path: str, text: str, message: str
) -> None:
    """The text names the value, the bound and what to write."""
    with pytest.raises(UnitError) as caught:
        parse_limit(path, text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("owner", "path", "name"),
    [
        ("charge", "attempt_timeout.total", "PAYMENT_API_CHARGE_ATTEMPT_TIMEOUT"),
        (
            "charge",
            "attempt_timeout.connect",
            "PAYMENT_API_CHARGE_ATTEMPT_TIMEOUT_CONNECT",
        ),
        ("charge", "budget.total", "PAYMENT_API_CHARGE_BUDGET"),
        (
            "charge",
            "circuit_breaker.recovery_timeout.initial",
            "PAYMENT_API_CHARGE_CIRCUIT_BREAKER_RECOVERY_TIMEOUT",
        ),
        (
            "charge",
            "circuit_breaker.window.calls",
            "PAYMENT_API_CHARGE_CIRCUIT_BREAKER_WINDOW",
        ),
        (
            "charge",
            "retry.backoff.initial",
            "PAYMENT_API_CHARGE_RETRY_BACKOFF_INITIAL",
        ),
        ("recovery", "max_size", "PAYMENT_API_RECOVERY_MAX_SIZE"),
        ("inbound", "budget.max", "PAYMENT_API_INBOUND_BUDGET_MAX"),
    ],
)
def test_an_override_is_named_after_its_key(owner: str, path: str, name: str) -> None:
    """Service, owner and long-form path make the name; short forms stay short."""
    assert override_name("payment_api", owner, path) == name


def test_the_keys_of_one_operation_have_names_of_their_own() -> None:
    """No two keys that can stand together share a variable."""
    paths = [
        p
        for p, limit in LIMITS.items()
        if limit.override and p != "circuit_breaker.window.calls"
    ]
    names = [override_name("s", "o", path) for path in paths]
    assert len(set(names)) == len(names)


def test_an_unknown_key_is_a_mistake_of_the_caller() -> None:
    """Asking for a key that is not in the table fails loudly."""
    with pytest.raises(KeyError):
        parse_limit("retry.attempts", "3")
