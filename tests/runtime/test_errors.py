"""The tree of errors: attributes, texts, pickling, cost (C3)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from policyctl.runtime import errors
from policyctl.runtime.errors import PolicyError

CASES: list[tuple[PolicyError, str]] = [
    (errors.PolicyError("s", "o"), "s.o: refused by its policy"),
    (
        errors.CircuitOpenError("s", "o", retry_after=12.3456),
        "s.o: circuit open: next probe in 12.346 s",
    ),
    (
        errors.CircuitOpenError("s", "o", state="half_open", permits=1),
        "s.o: circuit half-open: its 1 probe permit is in use",
    ),
    (
        errors.CircuitOpenError("s", "o", state="half_open", permits=3),
        "s.o: circuit half-open: its 3 probe permits are in use",
    ),
    (
        errors.CircuitOpenError("s", "o", float("inf"), "forced_open"),
        "s.o: circuit forced open by hand or by its mode",
    ),
    (
        errors.BulkheadFullError("s", "o", max_concurrent=10, max_queue=20),
        "s.o: bulkhead full: all 10 slots in use and all 20 places to wait taken",
    ),
    (
        errors.BulkheadFullError("s", "o", max_concurrent=10, waited=0.0),
        "s.o: bulkhead full: all 10 slots in use and max_wait is 0 s",
    ),
    (
        errors.BulkheadFullError("s", "o", max_concurrent=10, waited=0.05),
        "s.o: bulkhead full: all 10 slots in use, none came free within 0.05 s",
    ),
    (
        errors.RateLimitedError("s", "o", retry_after=0.25, rate=40.0),
        "s.o: rate limit of 40/s reached: next token in 0.25 s",
    ),
    (errors.AttemptTimeoutError("s", "o", 5.0), "s.o: attempt timed out after 5 s"),
    (
        errors.AttemptTimeoutError("s", "o", 5.0, "first_item"),
        "s.o: attempt timed out: no first item within 5 s",
    ),
    (
        errors.AttemptTimeoutError("s", "o", 5.0, "idle"),
        "s.o: attempt timed out: no further item within 5 s",
    ),
    (
        errors.BudgetExhaustedError("s", "o", remaining=0.4, minimum=1.0),
        "s.o: budget exhausted: 0.4 s left, 0.6 s under the minimum of 1 s",
    ),
    (
        errors.BudgetExhaustedError("s", "o", remaining=-2.0, minimum=1.0),
        "s.o: budget exhausted: overdrawn by 2 s",
    ),
    (
        errors.BudgetExhaustedError("s", "o", after=0.8),
        "s.o: budget exhausted: it cut the attempt after 0.8 s",
    ),
    (errors.BudgetExhaustedError(), "budget exhausted: 0 s left"),
    (
        errors.QueueFullError("s", "q", size=100, max_size=100),
        "s.q: queue full: 100 of at most 100 items",
    ),
    (
        errors.IdempotencyConflictError("s", "o", key="k1"),
        "s.o: idempotency key 'k1' belongs to a call still running",
    ),
    (
        errors.IdempotencyConflictError("s", "o", key="k1", waited=2.0),
        "s.o: idempotency key 'k1' belongs to a call still running after 2 s",
    ),
    (
        errors.IdempotencyConflictError("s", "o", key="k1", conflict="arguments"),
        "s.o: idempotency key 'k1' was used with other arguments",
    ),
    (
        errors.PolicyConfigError("0 is below 1", path="retry.max_attempts", help="x"),
        "retry.max_attempts: 0 is below 1\nhelp: x",
    ),
    (errors.PolicyConfigError("bad", service="s"), "s: bad"),
]
IDS = [text for _, text in CASES]


@pytest.mark.parametrize(("error", "text"), CASES, ids=IDS)
def test_texts_name_the_number_that_decided(error: PolicyError, text: str) -> None:
    """The text of each error, exactly."""
    assert str(error) == text
    assert repr(error) == f"{type(error).__name__}({text!r})"


@pytest.mark.parametrize(("error", "text"), CASES, ids=IDS)
def test_errors_survive_pickling_and_copying(error: PolicyError, text: str) -> None:
    """Type, attributes, notes and text come back the same, by any protocol."""
    error.add_note("policyctl: 3 attempts")
    copies: list[Any] = [copy.copy(error), copy.deepcopy(error)]
    copies += [
        pickle.loads(pickle.dumps(error, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for other in copies:
        assert type(other) is type(error)
        assert vars(other) == vars(error)
        assert str(other) == text


@pytest.mark.parametrize(("error", "text"), CASES, ids=IDS)
def test_errors_can_be_made_without_arguments(error: PolicyError, text: str) -> None:
    """Users' own tests can raise any of them bare."""
    assert str(type(error)())


def test_the_tree() -> None:
    """All derive from PolicyError; the two time limits are TimeoutErrors too."""
    classes = [
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, Exception)
    ]
    assert len(classes) == 10
    assert all(issubclass(cls, PolicyError) for cls in classes)
    timeouts = {cls.__name__ for cls in classes if issubclass(cls, TimeoutError)}
    assert timeouts == {"AttemptTimeoutError", "BudgetExhaustedError"}


def test_a_timeout_is_no_error_of_the_operating_system() -> None:
    """Being a TimeoutError does not invent an errno or lose arguments."""
    error = errors.AttemptTimeoutError("s", "o", timeout=3.0)
    assert (error.errno, error.strerror, error.filename) == (None, None, None)
    assert (error.service, error.operation, error.timeout) == ("s", "o", 3.0)


def test_making_an_error_formats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rejection pays for its text only when somebody reads it."""

    def fail(_: float) -> str:
        raise AssertionError("formatted")

    monkeypatch.setattr(errors, "_seconds", fail)
    error = errors.CircuitOpenError("s", "o", retry_after=1.0)
    with pytest.raises(errors.CircuitOpenError):
        raise error
    with pytest.raises(AssertionError, match="formatted"):
        str(error)
