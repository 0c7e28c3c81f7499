"""What the names in outcome lists mean."""

from __future__ import annotations

import pytest

from policyctl.lint.outcomes import (
    builtin,
    covered,
    has_jitter,
    matches_timeout,
    overlap,
    repeats_possible_successes,
    retries_timeouts,
)
from policyctl.lint.testing import load_yaml, operation_yaml
from policyctl.resolve.policy import Backoff, Jitter, Retry


def retry(settings: str, transport: str = "http") -> Retry:
    """A resolved retry."""
    text = operation_yaml(f"transport: {transport}\nretry: {settings}")
    found = load_yaml(text).services["payment_api"].operations["charge"].retry
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("timeout", True),
        ("TimeoutError", True),
        ("OSError", True),
        ("Exception", True),
        ("builtins:TimeoutError", True),
        ("httpx:ReadTimeout", True),
        ("httpx:PoolTimeout", False),
        ("ConnectionResetError", False),
        ("connection_lost", False),
    ],
)
def test_names_that_take_timeouts(name: str, takes: bool) -> None:
    """Base classes of TimeoutError and names with timeout in them do."""
    assert matches_timeout(name) is takes


@pytest.mark.parametrize(
    ("settings", "retried"),
    [
        ("{retry_on: [not_sent, timeout]}", True),
        ("{retry_on: [not_sent]}", False),
        ("{retry_on: [OSError], never_retry_on: [TimeoutError]}", False),
        ("{retry_on: [not_sent], retry_if: a.b:c}", True),
    ],
)
def test_retried_timeouts(settings: str, retried: bool) -> None:
    """never_retry_on wins, a predicate may say yes."""
    assert retries_timeouts(retry(settings)) is retried


@pytest.mark.parametrize(
    ("settings", "entries"),
    [
        ("{}", []),
        ("{retry_on: [not_sent, ConnectionRefusedError]}", []),
        ("{retry_on: [timeout], never_retry_on: [timeout]}", []),
        ("{retry_on: [timeout], retry_on_status: [429, 503]}", ["timeout", "503"]),
        ("{retry_if_result: a.b:c}", ["retry_if_result"]),
        ("{retry_on: [TimeoutError], never_retry_on: [OSError]}", []),
        ("{retry_on: [OSError], never_retry_on: [TimeoutError]}", ["OSError"]),
        ('{retry_on_status: ["502-504"], never_retry_on_status: ["500-599"]}', []),
        (
            '{retry_on_status: ["502-504"], never_retry_on_status: [502, 503]}',
            ["502-504"],
        ),
        ("{retry_on_status: [425, RESOURCE_EXHAUSTED]}", []),
        (
            "{retry_on_status: [ABORTED], never_retry_on_status: [ABORTED]}",
            [],
        ),
        ('{retry_on_status: ["08006"], never_retry_on_status: ["08*"]}', []),
        ('{retry_on_status: ["08*"], never_retry_on_status: ["08006"]}', ["08*"]),
        ('{retry_on_status: ["40001", "40P01"]}', ["40001", "40P01"]),
    ],
)
def test_entries_after_which_the_work_may_be_done(
    settings: str, entries: list[str]
) -> None:
    """Refused and never sent requests were not processed."""
    assert repeats_possible_successes(retry(settings)) == entries


def test_builtins() -> None:
    """Only exceptions are found."""
    assert builtin("ValueError") is ValueError
    assert builtin("builtins:ValueError") is ValueError
    assert builtin("print") is None
    assert builtin("my_app.errors:ValueError") is None


def test_statuses() -> None:
    """Ranges, names and classes cover what they say, less what is excluded."""
    assert covered((404, 503), ("400-499",)) == ("404",)
    assert covered((404, 503), ("400-599",), ("404",)) == ("503",)
    assert covered(("NOT_FOUND",), ("NOT_FOUND", "UNAVAILABLE")) == ("NOT_FOUND",)
    assert covered((), ("23505", "40001", "42*")) == ("23505", "42*")
    assert covered((), ("23505", "42*"), ("23*", "42601")) == ("42*",)


@pytest.mark.parametrize(
    ("one", "other", "never", "common"),
    [
        (("503",), ("500-504",), (), True),
        (("503",), ("500-504",), ("503",), False),
        (("502",), ("503",), (), False),
        (("UNAVAILABLE",), ("UNAVAILABLE",), (), True),
        (("UNAVAILABLE",), ("UNAVAILABLE",), ("UNAVAILABLE",), False),
    ],
)
def test_overlap(
    one: tuple[str, ...], other: tuple[str, ...], never: tuple[str, ...], common: bool
) -> None:
    """Two lists share a status that nothing takes out."""
    assert overlap(one, other, never) is common


@pytest.mark.parametrize(
    ("jitter", "expected"),
    [
        (Jitter("none"), False),
        (Jitter("full"), True),
        (Jitter("ratio", 0.0), False),
        (Jitter("ratio", 0.1), True),
    ],
)
def test_jitter(jitter: Jitter, expected: bool) -> None:
    """A ratio of 0 moves nobody."""
    assert has_jitter(Backoff(0.1, 2.0, 1.0, jitter)) is expected


def test_what_a_database_rolled_back_is_undone() -> None:
    """A serialization failure and a deadlock are, their class and another code are not."""
    found = retry('{retry_on_status: ["40001", "40P01", "40003", "40*"]}')
    assert repeats_possible_successes(found, "sql") == ["40003", "40*"]
    assert repeats_possible_successes(found, "http") == [
        "40001",
        "40P01",
        "40003",
        "40*",
    ]
