"""TB004: attempts that the budget leaves no time for."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(attempt: str, budget: str, retry: str, more: str = "") -> str:
    """An operation with these numbers."""
    return operation_yaml(
        f"{HEAD}attempt_timeout: {attempt}\nbudget: {budget}\nretry: {retry}\n{more}"
    )


def test_the_example_of_the_catalogue() -> None:
    """4 x 10 s + 2 s + 4 s + 8 s = 54 s against 30 s: 2 complete, 3 start."""
    text = policy("10s", "30s", "{max_attempts: 4, backoff: {initial: 2s, max: 10s}}")
    (found,) = lint_yaml(text, "TB004")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "worst case 54s > 30s: only 2 of 4 attempts can complete, 3 can start"
    )
    assert found.help == "set max_attempts: 2, or set attempt_timeout: 4s or less"
    assert (found.span.line, found.span.column) == (10, 27)
    assert [related.span.line for related in found.related] == [9, 8]


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "count"),
    [("9600ms", 0), ("9599ms", 1), ("12s", 0)],
)
def test_equality_fits(budget: str, count: int) -> None:
    """3 x 3 s + 0.2 s + 0.4 s = 9.6 s fits into exactly 9.6 s."""
    text = policy("3s", budget, "{max_attempts: 3, backoff: {initial: 200ms, max: 1s}}")
    assert len(lint_yaml(text, "TB004")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "severity", "reached"),
    [
        ("2100ms", Severity.WARNING, "only 2 of 3 attempts can complete, 2 can start"),
        ("2099ms", Severity.ERROR, "only 1 of 3 attempts can complete, 2 can start"),
    ],
)
def test_two_attempts_in_full(budget: str, severity: Severity, reached: str) -> None:
    """2 x 1 s + 0.1 s are 2.1 s; the third would start at 2.3 s."""
    (found,) = lint_yaml(policy("1s", budget, "{max_attempts: 3}"), "TB004")
    assert found.severity is severity
    assert found.message.endswith(reached)


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "started"), [("2300ms", 2), ("2301ms", 3), ("1100ms", 1), ("1101ms", 2)]
)
def test_attempts_that_start(budget: str, started: int) -> None:
    """The second starts after 1.1 s and the third after 2.3 s, if any time is left."""
    (found,) = lint_yaml(policy("1s", budget, "{max_attempts: 3}"), "TB004")
    assert found.message.endswith(f"{started} can start")


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("minimum", "started"), [("700ms", 3), ("701ms", 2), ("1900ms", 2), ("1901ms", 1)]
)
def test_budget_minimum_of_an_attempt(minimum: str, started: int) -> None:
    """Of 3 s, 1.9 s are left for the second attempt and 0.7 s for the third."""
    text = policy("1s", f"{{total: 3s, minimum: {minimum}}}", "{max_attempts: 3}")
    (found,) = lint_yaml(text, "TB004")
    assert found.message.endswith(f"{started} can start")


def test_fewer_than_two_full_attempts_is_an_error() -> None:
    """2 x 2 s + 0.1 s = 4.1 s against 4 s: one attempt completes."""
    (found,) = lint_yaml(policy("2s", "4s", "{max_attempts: 2}"), "TB004")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "worst case 4.1s > 4s: only 1 of 2 attempts can complete, 2 can start"
    )
    assert found.help == "set max_attempts: 1, or set attempt_timeout: 1.9s or less"


@pytest.mark.boundary
def test_local_waits_count_for_each_attempt() -> None:
    """3 x (1 s + 0.5 s + 0.5 s) + 0.3 s = 6.3 s against 6 s."""
    waits = (
        "bulkhead: {max_concurrent: 2, max_wait: 500ms}\n"
        "rate_limit: {rate: 10/s, max_wait: 500ms}"
    )
    (found,) = lint_yaml(policy("1s", "6s", "{max_attempts: 3}", waits), "TB004")
    assert found.message == (
        "worst case 6.3s > 6s: only 2 of 3 attempts can complete, 3 can start"
    )
    assert lint_yaml(policy("1s", "6300ms", "{max_attempts: 3}", waits), "TB004") == []
    assert (
        len(lint_yaml(policy("1s", "6299ms", "{max_attempts: 3}", waits), "TB004")) == 1
    )


@pytest.mark.parametrize(
    ("jitter", "worst"),
    [
        ("none", "3.6s"),
        ("full", "3.6s"),
        ("equal", "3.6s"),
        ("0.5", "3.9s"),
        ("decorrelated", "5.4s"),
    ],
)
def test_longest_waits_for_each_jitter(jitter: str, worst: str) -> None:
    """3 x 1 s plus 0.2 s + 0.4 s; +50 % of it; or 0.6 s + 1.8 s (decorrelated)."""
    retry = f"{{max_attempts: 3, backoff: {{initial: 200ms, jitter: {jitter}}}}}"
    (found,) = lint_yaml(policy("1s", "3500ms", retry), "TB004")
    assert found.message.startswith(f"worst case {worst} > 3.5s")


def test_budget_minimum_delays_no_attempt_that_cannot_run() -> None:
    """The third attempt would start with 0.7 s left, below the minimum of 1 s."""
    text = policy(
        "1s", "{total: 3s, minimum: 1s}", "{max_attempts: 3, backoff: {jitter: none}}"
    )
    (found,) = lint_yaml(text, "TB004")
    assert found.message == (
        "worst case 3.3s > 3s: only 2 of 3 attempts can complete, 2 can start"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "facts", "budget", "count"),
    [
        ("2s", "{latency: {p50: 100ms}}", "2500ms", 0),
        ("2s", "{latency: {p50: 100ms}}", "2499ms", 1),
        ("2s", "{latency: {mean: 100ms}}", "2500ms", 0),
        ("2s", "{latency: {mean: 100ms}}", "2499ms", 1),
        ("{total: 2s, connect: 100ms}", "{rate: 1/s}", "2500ms", 0),
        ("{total: 2s, connect: 100ms}", "{rate: 1/s}", "2499ms", 1),
        ("2s", "{rate: 1/s}", "2300ms", 0),
        ("2s", "{rate: 1/s}", "2299ms", 1),
    ],
)
def test_fast_failures_are_measured_as_such(
    attempt: str, facts: str, budget: str, count: int
) -> None:
    """Without timeouts in retry_on: 2 x 0.1 s + 0.3 s + 2 s = 2.5 s.

    A failure takes the median, the mean or the connect timeout; 0 s where none is known.
    """
    retry = "{max_attempts: 3, retry_on: [not_sent]}"
    text = policy(attempt, budget, retry, f"facts: {facts}")
    assert len(lint_yaml(text, "TB004")) == count


def test_sums_of_decimals_that_fit_exactly() -> None:
    """1.1 s + 0.1 s + 0.2 s + 0 s are 1.4 s, whatever their floats add up to."""
    retry = "{max_attempts: 3, retry_on: [not_sent]}"
    assert lint_yaml(policy("1100ms", "1400ms", retry), "TB004") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "p99", "help", "fixed"),
    [
        (
            "1s",
            "800ms",
            "set max_attempts: 2, or set attempt_timeout: 800ms or less",
            "2",
        ),
        ("1s", "801ms", "set max_attempts: 2", "2"),
        (
            "2s",
            "800ms",
            "set max_attempts: 1, or set attempt_timeout: 800ms or less",
            "800ms",
        ),
        ("2s", "801ms", "set max_attempts: 1", None),
    ],
)
def test_advice_keeps_healthy_calls(
    attempt: str, p99: str, help: str, fixed: str | None
) -> None:
    """(2.7 s - 0.3 s) / 3 = 800 ms fit; a p99 over that needs longer attempts."""
    facts = f"facts: {{latency: {{p99: {p99}}}}}"
    text = policy(attempt, "2700ms", "{max_attempts: 3}", facts)
    (found,) = lint_yaml(text, "TB004")
    assert found.help == help
    edits = () if found.fix is None else found.fix.edits
    assert [edit.text for edit in edits] == ([] if fixed is None else [fixed])


@pytest.mark.parametrize(
    ("wait", "budget", "p99", "help"),
    [
        ("500ms", "2s", "100ms", "set attempt_timeout: 450ms or less"),
        (
            "500ms",
            "2s",
            "500ms",
            "set budget: 4.7s, since attempts that fit are too short",
        ),
        ("1s", "2s", "100ms", "shorten the waits: they alone use up the budget"),
    ],
)
def test_advice_where_no_attempt_completes(
    wait: str, budget: str, p99: str, help: str
) -> None:
    """1.8 s after a wait of 0.5 s are over 2 s: (2 - 0.1) / 2 - 0.5 = 0.45 s fit."""
    more = (
        f"facts: {{latency: {{p99: {p99}}}}}\n"
        f"bulkhead: {{max_concurrent: 2, max_wait: {wait}}}"
    )
    text = policy("1800ms", budget, "{max_attempts: 2}", more)
    (found,) = lint_yaml(text, "TB004")
    assert "none of 2 attempts can complete, 1 can start" in found.message
    assert found.help == help


def test_unlimited_attempts_are_not_counted() -> None:
    """A control loop tries for as long as its budget lasts."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 1s\nbudget: 2s\nretry: {{max_attempts: unlimited}}",
        service="class: control_loop",
    )
    assert lint_yaml(text, "TB004") == []


def test_attempts_at_or_over_the_budget_are_left_to_tb003() -> None:
    """One cause gives one finding."""
    assert lint_yaml(policy("5s", "3s", "{max_attempts: 3}"), "TB004") == []
    assert lint_yaml(policy("3s", "3s", "{max_attempts: 3}"), "TB004") == []
    assert len(lint_yaml(policy("2999ms", "3s", "{max_attempts: 3}"), "TB004")) == 1


@pytest.mark.parametrize(
    "settings",
    [
        "attempt_timeout: 2s\nretry: {max_attempts: 3}",
        "budget: 2s\nretry: {max_attempts: 3}",
        "attempt_timeout: 2s\nbudget: 3s",
        "attempt_timeout: 2s\nbudget: 3s\nretry: {max_attempts: 1}",
        "attempt_timeout: {connect: 2s}\nbudget: 3s\nretry: {max_attempts: 3}",
        "attempt_timeout: 2s\nbudget: {inherit: true}\nretry: {max_attempts: 3}",
    ],
)
def test_needs_timeout_budget_and_retries(settings: str) -> None:
    """Where one of the three is missing nothing can be said."""
    assert lint_yaml(operation_yaml(HEAD + settings), "TB004") == []


def test_retry_after_does_not_count() -> None:
    """A long hint of the server ends the call, so it takes no attempt away."""
    text = policy("1s", "4s", "{max_attempts: 3, retry_after: {max: 10s}}")
    assert lint_yaml(text, "TB004") == []


def test_attempts_of_a_preset_are_shown_there() -> None:
    """Inherited attempts: the operation is the place, the preset is related."""
    preset = "version: 1\npreset: many\ndefaults:\n  retry:\n    max_attempts: 9\n"
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 1s\nbudget: 5s", service="extends: [many]"
    )
    (found,) = lint_yaml(text, "TB004", files={"many.yaml": preset})
    assert (found.span.path, found.span.line) == ("policy.yaml", 6)
    place = found.related[0].span
    assert (place.path, place.line, place.column) == ("many.yaml", 5, 19)
