"""One classification of outcomes for breaker, retry and fallback (C2, C15)."""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
import urllib.error
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.classify import (
    FAILURE,
    NEUTRAL,
    OUTCOME,
    RETRY,
    SUCCESS,
    Classifier,
)
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    BulkheadFullError,
    CircuitOpenError,
    PolicyConfigError,
)
from policyctl.runtime.fallback_rules import FallbackRules

ALL = ("not_sent", "connection_lost", "timeout")


class StatusError(Exception):
    """An error with an HTTP status."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


def classifier(retry: dict[str, Any] | None = None, **breaker: Any) -> Classifier:
    """A classifier for operation s.o over http with the documented defaults."""
    return Classifier(
        "s",
        "o",
        transport="http",
        retry=settings.Retry(**(retry or {"retry_on": ALL})),
        circuit_breaker=settings.CircuitBreaker(
            **{
                "record_on": ALL,
                "record_on_status": ("408", "429", "500-599"),
                "ignore_on_status": ("400-407", "409-428", "430-499"),
                **breaker,
            }
        ),
    )


@pytest.mark.parametrize(
    ("error", "flags"),
    [
        (TimeoutError(), FAILURE | RETRY),
        (ConnectionRefusedError(), FAILURE | RETRY),
        (ConnectionResetError(), FAILURE | RETRY),
        (httpx.ReadTimeout("x"), FAILURE | RETRY),
        (ValueError(), SUCCESS),
        (KeyError(), SUCCESS),
        (StatusError(500), FAILURE),
        (StatusError(401), NEUTRAL),
        (StatusError(429), FAILURE),
        (StatusError(302), SUCCESS),
        (StopIteration(), SUCCESS),
        (StopAsyncIteration(), SUCCESS),
        (KeyboardInterrupt(), NEUTRAL),
        (SystemExit(), NEUTRAL),
        (GeneratorExit(), NEUTRAL),
        (asyncio.CancelledError(), NEUTRAL),
        (BaseException(), NEUTRAL),
        (BaseExceptionGroup("x", [asyncio.CancelledError(), TimeoutError()]), NEUTRAL),
    ],
)
def test_http_defaults(error: BaseException, flags: int) -> None:
    """What the default lists make of common errors."""
    assert classifier().of_error(error) == flags


@pytest.mark.parametrize("entry", ["BaseException", "Exception"])
def test_base_exceptions_are_neutral_whatever_is_listed(entry: str) -> None:
    """RT-11: no list makes Ctrl-C or cancellation count or repeat."""
    rules = classifier({"retry_on": (entry,)}, record_on=(entry,))
    for error in (KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()):
        assert rules.of_error(error) == NEUTRAL
    assert rules.of_error(ValueError()) == FAILURE | RETRY


@pytest.mark.parametrize(
    ("error", "flags"),
    [
        (CircuitOpenError("s", "o"), NEUTRAL),
        (BulkheadFullError("s", "o"), NEUTRAL),
        (BudgetExhaustedError("s", "o"), NEUTRAL),
        (AttemptTimeoutError("s", "o"), FAILURE | RETRY),
        (CircuitOpenError("s", "other"), FAILURE),
        (BulkheadFullError("t", "o"), FAILURE),
        (AttemptTimeoutError("t", "o"), FAILURE),
        (BudgetExhaustedError("t", "o"), FAILURE),
        (CircuitOpenError(), FAILURE),
    ],
)
def test_own_rejections_and_those_of_nested_policies(
    error: Exception, flags: int
) -> None:
    """Own rejections are neutral, own timeouts failures, nested ones are not retried."""
    assert classifier().of_error(error) == flags
    assert classifier({"retry_on": ("Exception",)}).of_error(error) == flags


def test_nested_errors_are_retried_when_they_are_named() -> None:
    """A class of the tree in retry_on names them; own rejections stay out."""
    for entry in (CircuitOpenError, "policyctl.runtime.errors:PolicyError"):
        rules = classifier({"retry_on": (entry,)})
        assert rules.of_error(CircuitOpenError("t", "o")) == FAILURE | RETRY
        assert rules.of_error(CircuitOpenError("s", "o")) == NEUTRAL
    rules = classifier(
        {"retry_on": (CircuitOpenError,), "never_retry_on": (CircuitOpenError,)}
    )
    assert rules.of_error(CircuitOpenError("t", "o")) == FAILURE


def test_nested_errors_can_be_ignored() -> None:
    """ignore_on makes even the failure of a nested policy neutral."""
    rules = classifier(ignore_on=("policyctl.runtime.errors:BulkheadFullError",))
    assert rules.of_error(BulkheadFullError("t", "o")) == NEUTRAL
    rules = classifier(ignore_on=("TimeoutError",))
    assert rules.of_error(AttemptTimeoutError("s", "o")) == NEUTRAL | RETRY


def test_policies_without_a_name_have_no_rejections_of_their_own() -> None:
    """Two nameless policies are not taken for one."""
    rules = Classifier()
    assert rules.of_error(CircuitOpenError()) == FAILURE


def test_a_wrong_policy_is_never_retried() -> None:
    """A configuration error does not go away by trying again."""
    rules = classifier({"retry_on": ("Exception",)}, record_on=("Exception",))
    assert rules.of_error(PolicyConfigError("x")) == FAILURE


def test_never_wins_over_retry_and_ignore_over_record() -> None:
    """An error on both lists is not retried, and not recorded."""
    rules = classifier(
        {"retry_on": ("OSError",), "never_retry_on": ("timeout",)},
        record_on=("OSError",),
        ignore_on=("connection_lost",),
    )
    assert rules.of_error(TimeoutError()) == FAILURE
    assert rules.of_error(BrokenPipeError()) == NEUTRAL | RETRY
    assert rules.of_error(OSError()) == FAILURE | RETRY


def test_status_lists_decide_for_errors() -> None:
    """retry_on_status retries; never_retry_on_status wins over the error's class."""
    rules = classifier(
        {
            "retry_on": (StatusError, "timeout"),
            "retry_on_status": ("502-504",),
            "never_retry_on_status": ("501",),
        }
    )
    assert rules.of_error(StatusError(503)) == FAILURE | RETRY
    assert rules.of_error(StatusError(501)) == FAILURE
    assert rules.of_error(StatusError(404)) == NEUTRAL | RETRY


def test_results_are_judged_by_status_and_predicates() -> None:
    """CB-15: an error that is returned, not raised, counts all the same."""
    rules = classifier(
        {
            "retry_on": (),
            "retry_on_status": ("503",),
            "never_retry_on_status": ("501",),
            "retry_if_result": lambda result: result.body == "again",
        },
        record_if_result=lambda result: result.body == "bad",
    )

    def of(status: int, body: str = "") -> int:
        return rules.of_result(SimpleNamespace(status_code=status, body=body))

    assert rules.checks_results
    assert of(200) == SUCCESS
    assert of(500) == FAILURE
    assert of(503) == FAILURE | RETRY
    assert of(401) == NEUTRAL
    assert of(200, "bad") == FAILURE
    assert of(401, "bad") == NEUTRAL
    assert of(200, "again") == SUCCESS | RETRY
    assert of(503, "bad") == FAILURE | RETRY
    assert of(501, "again") == FAILURE


def test_results_need_no_look_when_nothing_judges_them() -> None:
    """Without status lists and predicates every result is a success."""
    assert not Classifier(retry=settings.Retry()).checks_results
    assert not Classifier(circuit_breaker=settings.CircuitBreaker()).checks_results
    by_status = Classifier(retry=settings.Retry(retry_on_status=("429",)))
    assert (by_status.checks_results, by_status.has_result_rules) == (True, False)
    by_rule = Classifier(retry=settings.Retry(retry_if_result=bool))
    assert (by_rule.checks_results, by_rule.has_result_rules) == (True, True)


def test_plain_results_have_no_status() -> None:
    """Numbers and dictionaries are data, not responses."""
    rules = classifier()
    for result in (500, "500", {"status": 500}, [500], None):
        assert rules.of_result(result) == SUCCESS


@pytest.mark.parametrize(
    ("group", "flags"),
    [
        (ExceptionGroup("x", [TimeoutError()]), FAILURE | RETRY),
        (ExceptionGroup("x", [TimeoutError(), BrokenPipeError()]), FAILURE | RETRY),
        (ExceptionGroup("x", [TimeoutError(), ValueError()]), FAILURE),
        (ExceptionGroup("x", [ValueError(), KeyError()]), SUCCESS),
        (ExceptionGroup("x", [StatusError(404), StatusError(400)]), NEUTRAL),
        (ExceptionGroup("x", [StatusError(404), ValueError()]), SUCCESS),
        (
            ExceptionGroup("x", [ExceptionGroup("y", [TimeoutError()])]),
            FAILURE | RETRY,
        ),
        (
            ExceptionGroup("x", [ExceptionGroup("y", [TimeoutError(), ValueError()])]),
            FAILURE,
        ),
        (ExceptionGroup("x", [TimeoutError(), CircuitOpenError("s", "o")]), FAILURE),
    ],
)
def test_groups_follow_their_members(group: Exception, flags: int) -> None:
    """RT-16: retried only if every member would be; a failure if one member is."""
    assert classifier().of_error(group) == flags


def test_a_group_may_be_excluded_as_such() -> None:
    """never_retry_on and ignore_on may name the group's own class."""
    group = ExceptionGroup("x", [TimeoutError()])
    rules = classifier({"retry_on": ALL, "never_retry_on": ("ExceptionGroup",)})
    assert rules.of_error(group) == FAILURE
    assert classifier(ignore_on=("ExceptionGroup",)).of_error(group) == NEUTRAL | RETRY


def test_very_deep_groups_are_no_problem() -> None:
    """Ten thousand levels of nesting do not exhaust the stack."""
    error: Exception = TimeoutError()
    for _ in range(10_000):
        error = ExceptionGroup("x", [error])
    assert classifier().of_error(error) == FAILURE | RETRY


def test_predicates_over_exceptions() -> None:
    """retry_if adds to retry_on; never_retry_on still wins."""
    rules = classifier(
        {
            "retry_on": (),
            "retry_if": lambda error: "again" in str(error),
            "never_retry_on": ("KeyError",),
        }
    )
    assert rules.of_error(ValueError("again")) == SUCCESS | RETRY
    assert rules.of_error(ValueError("no")) == SUCCESS
    assert rules.of_error(KeyError("again")) == SUCCESS


def test_a_failing_predicate_says_no_and_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A bug in a predicate neither replaces the real error nor floods the log."""

    def wrong(_: object) -> bool:
        raise ZeroDivisionError

    rules = classifier({"retry_on": (), "retry_if": wrong})
    with caplog.at_level(logging.ERROR, "policyctl"):
        assert [rules.of_error(ValueError()) for _ in range(3)] == [SUCCESS] * 3
    assert len(caplog.records) == 1
    assert "counts as False: ZeroDivisionError" in caplog.text


def test_classes_of_modules_loaded_later_match_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict that was cached before the module came does not stick."""
    name = "policyctl_later_app"
    (tmp_path / f"{name}.py").write_text("Retryable = LookupError\n")
    monkeypatch.syspath_prepend(tmp_path)
    rules = classifier({"retry_on": (f"{name}:Retryable",)})
    assert rules.of_error(KeyError()) == SUCCESS
    __import__(name)
    try:
        assert rules.of_error(KeyError()) == SUCCESS | RETRY
    finally:
        del sys.modules[name]
    assert rules.of_error(IndexError()) == SUCCESS | RETRY


def test_unknown_builtins_are_refused_when_the_policy_is_made() -> None:
    """A name without a module must be a builtin exception."""
    with pytest.raises(PolicyConfigError) as caught:
        classifier({"retry_on": ("HTTPError",)})
    assert str(caught.value) == (
        "retry.retry_on: 'HTTPError' is not a builtin exception\n"
        "help: write package.module:HTTPError for one of a library"
    )
    with pytest.raises(PolicyConfigError, match=r"circuit_breaker\.ignore_on"):
        classifier(ignore_on=("int",))


def test_caches_stay_bounded() -> None:
    """Classes made on the fly do not pile up."""
    rules = classifier({"retry_on": ("LookupError", "timeout")})
    for number in range(2000):
        kind = type(f"E{number}", (KeyError,), {})
        assert rules.of_error(kind()) == SUCCESS | RETRY
    for matcher in (rules._retry, rules._never, rules._record, rules._ignore):
        assert len(matcher._by_type) <= 512


def test_without_a_breaker_every_exception_is_a_failure() -> None:
    """Statistics of an operation without a breaker still mean something."""
    rules = Classifier("s", "o")
    assert rules.of_error(ValueError()) == FAILURE
    assert rules.of_error(KeyboardInterrupt()) == NEUTRAL


leaf_errors = st.sampled_from(
    [
        TimeoutError(),
        BrokenPipeError(),
        ValueError(),
        StatusError(500),
        StatusError(404),
    ]
)
groups = st.recursive(
    leaf_errors,
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda errors: ExceptionGroup("x", errors)
    ),
    max_leaves=8,
)


@given(groups)
def test_a_group_is_judged_by_its_leaves_alone(error: Exception) -> None:
    """However errors are nested, only the set of leaves counts."""
    rules = classifier()

    def leaves(found: Exception) -> list[Exception]:
        if isinstance(found, ExceptionGroup):
            return [leaf for member in found.exceptions for leaf in leaves(member)]
        return [found]

    answers = [rules.of_error(leaf) for leaf in leaves(error)]
    outcomes = {flags & OUTCOME for flags in answers}
    flags = rules.of_error(error)
    assert bool(flags & RETRY) == all(answer & RETRY for answer in answers)
    assert (flags & OUTCOME == FAILURE) == (FAILURE in outcomes)
    assert (flags & OUTCOME == NEUTRAL) == (outcomes == {NEUTRAL})


@pytest.mark.parametrize(
    ("entries", "yes", "no"),
    [
        (
            None,
            [
                TimeoutError(),
                StatusError(503),
                CircuitOpenError("s", "o"),
                BulkheadFullError("s", "o"),
                AttemptTimeoutError("s", "o"),
                BudgetExhaustedError("s", "o"),
                CircuitOpenError("t", "o"),
                ExceptionGroup("x", [TimeoutError(), CircuitOpenError("s", "o")]),
            ],
            [ValueError(), StatusError(404), KeyboardInterrupt(), StopIteration()],
        ),
        (
            ("circuit_open",),
            [CircuitOpenError("s", "o"), CircuitOpenError("t", "o")],
            [TimeoutError(), BulkheadFullError("s", "o")],
        ),
        (
            ("ValueError", "timeout"),
            [UnicodeError(), AttemptTimeoutError("s", "o"), httpx.ConnectTimeout("x")],
            [CircuitOpenError("s", "o"), ExceptionGroup("x", [KeyError()])],
        ),
        (
            ("BaseException",),
            [ValueError()],
            [KeyboardInterrupt(), asyncio.CancelledError(), SystemExit()],
        ),
    ],
)
def test_what_a_fallback_answers_for(
    entries: tuple[str, ...] | None,
    yes: list[BaseException],
    no: list[BaseException],
) -> None:
    """C30: the listed errors, by default failures, timeouts and rejections."""
    rules = FallbackRules(entries, classifier(), "http")
    assert [error for error in yes if not rules.matches(error)] == []
    assert [error for error in no if rules.matches(error)] == []


def _sample_errors() -> list[Exception]:
    """Errors of few classes that mean different things."""
    return [
        ConnectionRefusedError(),
        ConnectionResetError(),
        TimeoutError(),
        OSError(errno.EHOSTUNREACH, "no route"),
        OSError(errno.ENOENT, "no file"),
        urllib.error.URLError(ConnectionRefusedError()),
        urllib.error.URLError(TimeoutError()),
        urllib.error.URLError("unknown url type"),
        StatusError(503),
        StatusError(404),
        ValueError("bad"),
        ValueError("very bad"),
        httpx.ConnectTimeout(""),
        ExceptionGroup("both", [ConnectionResetError(), ValueError()]),
        ExceptionGroup("both", [ConnectionResetError(), TimeoutError()]),
        AttemptTimeoutError("s", "o", 1.0),
        AttemptTimeoutError("s", "other", 1.0),
    ]


def _is_very(error: object) -> bool:
    return "very" in str(error)


@pytest.mark.parametrize(
    ("retry", "breaker"),
    [
        ({"retry_on": ALL}, {}),
        ({"retry_on": ALL}, {"record_on_status": (), "ignore_on_status": ()}),
        (
            {"retry_on": ("OSError",), "never_retry_on": ("timeout",)},
            {"record_on_status": (), "ignore_on_status": (), "ignore_on": ("timeout",)},
        ),
        (
            {"retry_if": _is_very},
            {"record_on_status": (), "ignore_on_status": ()},
        ),
    ],
)
def test_what_a_class_was_does_not_decide_what_its_next_error_is(
    retry: dict[str, Any], breaker: dict[str, Any]
) -> None:
    """C2: a classifier that has seen all errors answers as one that has seen none."""
    seasoned = classifier(retry, **breaker)
    errors = _sample_errors()
    for error in errors:
        seasoned.of_error(error)
    for error in errors:
        fresh = classifier(retry, **breaker)
        assert seasoned.of_error(error) == fresh.of_error(error), repr(error)


def test_a_class_whose_name_is_loaded_later_is_judged_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error that nothing named is retried once the module is there that names it."""
    quiet = {"record_on_status": (), "ignore_on_status": ()}
    asked = classifier({"retry_on": ("loaded_later:ValueError",)}, **quiet)
    assert not asked.of_error(ValueError()) & RETRY
    assert not asked.of_error(ValueError()) & RETRY
    monkeypatch.setitem(
        sys.modules, "loaded_later", cast("Any", SimpleNamespace(ValueError=ValueError))
    )
    assert asked.of_error(ValueError()) & RETRY
    assert asked.of_error(ValueError()) & RETRY
