"""Settings: defaults, immutability, and refusal of numbers that make no sense."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.resolve import policy as resolved
from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.fields import Settings

CLASSES = sorted(
    (
        cls
        for cls in vars(settings).values()
        if isinstance(cls, type) and issubclass(cls, Settings) and cls is not Settings
    ),
    key=lambda cls: cls.__name__,
)

NEEDED: dict[str, dict[str, Any]] = {
    "AttemptTimeout": {"total": 5.0},
    "Budget": {"total": 15.0},
    "BudgetHeader": {"name": "X-Timeout-Budget"},
    "Bulkhead": {"max_concurrent": 10},
    "FallbackCall": {"call": "my_app.fallbacks:cached"},
    "FallbackOperation": {"operation": "quotes_b.get"},
    "FallbackValue": {"value": []},
    "Forward": {"header": "Idempotency-Key"},
    "Hedge": {"delay": 0.2},
    "Idempotency": {"key": ("hotel_id",)},
    "RateLimit": {"rate": 100.0},
    "SlowCall": {"after": 2.0, "ratio": 0.8},
    "Window": {"seconds": 30.0},
}


def make(cls: type[Settings], **changes: Any) -> Any:
    """An object of a settings class with what it cannot do without."""
    return cls(**{**NEEDED.get(cls.__name__, {}), **changes})


@pytest.mark.parametrize("cls", CLASSES)
def test_settings_are_immutable_values(cls: type[Settings]) -> None:
    """Equal settings are equal and hash alike; nothing can be assigned or added."""
    one, other = make(cls), make(cls)
    assert (one, hash(one)) == (other, hash(other))
    name = next(iter(one.as_dict()))
    with pytest.raises(AttributeError, match="immutable"):
        setattr(one, name, None)
    with pytest.raises(AttributeError):
        one.unheard_of = 1
    with pytest.raises(AttributeError, match="immutable"):
        delattr(one, name)
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("cls", CLASSES)
def test_settings_survive_pickling_copying_and_their_own_repr(
    cls: type[Settings],
) -> None:
    """A copy by pickle, copy, deepcopy, replace() or repr() equals the original."""
    one = make(cls)
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.copy(one) == copy.deepcopy(one) == one.replace() == one
    assert eval(repr(one), vars(settings)) == one


@pytest.mark.parametrize("cls", CLASSES)
def test_settings_take_keywords_alone(cls: type[Settings]) -> None:
    """Positional values and unknown names are refused, the latter with a hint."""
    with pytest.raises(TypeError, match="positional"):
        cls(1)  # type: ignore[call-arg]
    name = list(make(cls).as_dict())[-1]
    with pytest.raises(TypeError, match=f"did you mean {name}"):
        make(cls, **{name + "x": 1})


def test_a_missing_setting_is_named() -> None:
    """What has no default must be given."""
    with pytest.raises(TypeError, match=r"Bulkhead\(\) needs max_concurrent="):
        settings.Bulkhead()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "name",
    [
        "AttemptTimeout",
        "Budget",
        "BudgetHeader",
        "Backoff",
        "RetryAfter",
        "RetryBudget",
        "Retry",
        "Recovery",
        "Window",
        "SlowCall",
        "CircuitBreaker",
        "Bulkhead",
        "RateLimit",
        "Hedge",
        "Forward",
        "Idempotency",
        "InboundBudget",
    ],
)
def test_fields_are_those_of_the_resolved_policy(name: str) -> None:
    """A template can print a resolved block field by field, in order."""
    of_policy = list(getattr(resolved, name).__dataclass_fields__)
    assert list(make(getattr(settings, name)).as_dict()) == of_policy


def test_defaults_are_those_of_the_language() -> None:
    """Blocks without further keys get the documented numbers."""
    assert settings.Retry() == settings.Retry(
        max_attempts=3,
        backoff=settings.Backoff(initial=0.1, multiplier=2.0, max=5.0, jitter="full"),
        retry_on=("not_sent",),
    )
    assert settings.RetryBudget() == settings.RetryBudget(
        ratio=0.1, refill="success", floor=6 / 60, burst=10
    )
    assert settings.CircuitBreaker() == settings.CircuitBreaker(
        failure_threshold=5,
        window=settings.Window(seconds=30.0),
        minimum_calls=20,
        recovery_timeout=settings.Recovery(initial=30.0, multiplier=1.0, jitter=0.2),
        half_open_max_calls=1,
        half_open_max_wait=60.0,
        success_threshold=2,
    )
    assert settings.Bulkhead(max_concurrent=7).max_queue == 7
    assert settings.Bulkhead(max_concurrent=7).max_wait == 0.0
    assert settings.RateLimit(rate=2.5).burst == 3
    assert settings.RateLimit(rate=0.1).burst == 1
    hedge = settings.Hedge(delay=0.2)
    assert (hedge.max_hedges, hedge.budget) == (1, 0.02)
    assert settings.Idempotency(key=("a",)).ttl == 24 * 3600
    budget = settings.Budget(total=1.0)
    assert (budget.inherit, budget.reserve, budget.minimum) == (True, 0.0, 0.0)


def test_a_count_window_bounds_the_default_of_minimum_calls() -> None:
    """A window of 5 calls is judged after 5 calls, not never."""
    breaker = settings.CircuitBreaker(
        failure_ratio=0.5, window=settings.Window(calls=5)
    )
    assert breaker.minimum_calls == 5
    assert breaker.failure_threshold is None


def test_whole_numbers_become_floats_where_they_are_seconds() -> None:
    """5 and 5.0 seconds are the same setting with the same text."""
    assert repr(settings.Budget(total=5)) == repr(settings.Budget(total=5.0))


NAN, INF = float("nan"), float("inf")

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("AttemptTimeout", {"total": 0}, "attempt_timeout.total: 0 is not over 0"),
    ("AttemptTimeout", {"total": True}, "attempt_timeout.total: True is not a number"),
    ("AttemptTimeout", {"total": NAN}, "attempt_timeout.total: nan is not a finite"),
    ("AttemptTimeout", {"total": 10**400}, "attempt_timeout.total: the number is too"),
    ("AttemptTimeout", {"total": None}, "attempt_timeout: no limit is given"),
    ("AttemptTimeout", {"total": 1, "connect": 2}, "2.0 s is over the total of 1.0 s"),
    ("AttemptTimeout", {"sync": "fork"}, "'fork' is not one of thread, cooperative"),
    ("AttemptTimeout", {"argument": "a b"}, "'a b' names no parameter"),
    ("AttemptTimeout", {"argument": "class"}, "'class' names no parameter"),
    ("Budget", {"total": -1}, "budget.total: -1 is not over 0"),
    ("Budget", {"minimum": INF}, "budget.minimum: inf is not a finite number"),
    ("Budget", {"total": 1, "reserve": 1}, "1.0 s leaves nothing of the total of 1.0"),
    ("Budget", {"inherit": 1}, "budget.inherit: 1 is not True or False"),
    ("Budget", {"header": "X-A"}, "budget.header: 'X-A' is not a BudgetHeader"),
    ("BudgetHeader", {"name": ""}, "budget.header.name: '' is not a name"),
    ("BudgetHeader", {"unit": "us"}, "'us' is not one of s, ms"),
    ("Backoff", {"initial": -0.1}, "retry.backoff.initial: -0.1 s is negative"),
    ("Backoff", {"initial": 9.0}, "9.0 s is over the max of 5.0 s"),
    ("Backoff", {"multiplier": 0.5}, "retry.backoff.multiplier: 0.5 is below 1"),
    ("Backoff", {"jitter": "some"}, "'some' is not one of none, full, equal"),
    ("Backoff", {"jitter": 1.5}, "retry.backoff.jitter: 1.5 is not a ratio"),
    ("Backoff", {"jitter": True}, "retry.backoff.jitter: True is not a number"),
    ("Retry", {"max_attempts": 0}, "retry.max_attempts: 0 is below 1"),
    ("Retry", {"max_attempts": 3.0}, "retry.max_attempts: 3.0 is not an integer"),
    ("Retry", {"max_attempts": True}, "retry.max_attempts: True is not an integer"),
    ("Retry", {"retry_on": ["timeout"]}, "retry.retry_on: ['timeout'] is not a tuple"),
    ("Retry", {"retry_on": "timeout"}, "retry.retry_on: 'timeout' is not a tuple"),
    ("Retry", {"retry_on": ("my.mod.Class",)}, "'my.mod.Class' is not an exception"),
    ("Retry", {"retry_on": (int,)}, "retry.retry_on: int is not an exception"),
    ("Retry", {"retry_on_status": (429,)}, "retry.retry_on_status: 429 is not a name"),
    ("Retry", {"retry_if": "no_colon"}, "retry.retry_if: 'no_colon' is not a callable"),
    ("RetryAfter", {"max": -3}, "retry.retry_after.max: -3 s is negative"),
    ("RetryBudget", {"ratio": 50}, "retry.budget.ratio: 50 is not a ratio from 0 to 1"),
    ("Recovery", {"initial": 5, "max": 2}, "5.0 s is over the max of 2.0 s"),
    ("Recovery", {"multiplier": 0}, "recovery_timeout.multiplier: 0.0 is below 1"),
    ("Window", {"calls": 5}, "needs seconds or calls, has both"),
    ("Window", {"seconds": None}, "needs seconds or calls, has neither"),
    ("SlowCall", {"ratio": 0}, "circuit_breaker.slow_call.ratio: 0.0 would always"),
    ("CircuitBreaker", {"failure_ratio": 0}, "failure_ratio: 0.0 would always open"),
    ("CircuitBreaker", {"failure_threshold": 0}, "failure_threshold: 0 is below 1"),
    ("CircuitBreaker", {"mode": "off"}, "'off' is not one of enforce, observe"),
    ("Bulkhead", {"max_concurrent": 0}, "bulkhead.max_concurrent: 0 is below 1"),
    ("Bulkhead", {"max_queue": -1}, "bulkhead.max_queue: -1 is below 0"),
    ("RateLimit", {"rate": 0}, "rate_limit.rate: 0 is not over 0"),
    ("Hedge", {"max_hedges": 0}, "hedge.max_hedges: 0 is below 1"),
    ("FallbackCall", {"call": "f"}, "fallback.call: 'f' is not a callable"),
    ("Forward", {"argument": "key"}, "needs header or argument, has both"),
    ("Idempotency", {"key": ()}, "idempotency.key: needs key or key_call, has neither"),
    ("Idempotency", {"key_call": "a:b"}, "needs key or key_call, has both"),
    ("Idempotency", {"store": "sqlite"}, "None does not go with store sqlite"),
    ("InboundBudget", {"default": 9, "max": 3}, "9.0 s is over the max of 3.0 s"),
]


@pytest.mark.parametrize(("name", "changes", "text"), WRONG)
def test_wrong_settings_name_their_path_and_value(
    name: str, changes: dict[str, Any], text: str
) -> None:
    """Each refusal is a PolicyConfigError with the setting and what it holds."""
    with pytest.raises(PolicyConfigError) as caught:
        make(getattr(settings, name), **changes)
    assert text in str(caught.value)


def test_minimum_calls_over_the_window_is_refused_with_help() -> None:
    """A window of 5 calls with a minimum of 10 could never trip (CB-20)."""
    with pytest.raises(PolicyConfigError) as caught:
        settings.CircuitBreaker(
            failure_ratio=0.5, window=settings.Window(calls=5), minimum_calls=10
        )
    assert caught.value.path == "circuit_breaker.minimum_calls"
    assert str(caught.value) == (
        "circuit_breaker.minimum_calls: 10 is over the window of 5 calls\n"
        "help: raise the window or lower minimum_calls"
    )


@given(st.floats() | st.integers() | st.booleans() | st.text() | st.none())
def test_durations_are_finite_and_not_negative_or_refused(value: Any) -> None:
    """No value of any type gets a bad number into a setting."""
    try:
        made = settings.Bulkhead(max_concurrent=1, max_wait=value)
    except PolicyConfigError as error:
        path = error.path
    else:
        path = ""
        assert type(made.max_wait) is float
        assert 0 <= made.max_wait < INF
    assert path in ("", "bulkhead.max_wait")


def test_signature_and_help_show_the_fields() -> None:
    """inspect.signature knows the keywords and defaults."""
    text = str(inspect.signature(settings.Bulkhead))
    assert text.startswith("(*, max_concurrent, max_queue=0, max_wait=0.0")


def test_replace_checks_again() -> None:
    """replace() cannot smuggle in what the constructor refuses."""
    one = settings.Backoff()
    assert one.replace(initial=1.0) == settings.Backoff(initial=1.0)
    with pytest.raises(PolicyConfigError):
        one.replace(initial=6.0)
