"""CB004: outcomes arrive after the window that they belong to."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


def policy(window: str, attempt: str = "10s", rule: str = "failure_ratio: 50%") -> str:
    """An operation with this window and timeout."""
    return operation_yaml(
        f"transport: http\nidempotent: true\nattempt_timeout: {attempt}\n"
        f"circuit_breaker: {{{rule}, window: {window}, minimum_calls: 5}}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("window", "severity"),
    [
        ("20s", None),
        ("19999ms", Severity.WARNING),
        ("10s", Severity.WARNING),
        ("9999ms", Severity.ERROR),
    ],
)
def test_boundaries(window: str, severity: Severity | None) -> None:
    """2 x 10 s = 20 s is enough; below the timeout of 10 s it is an error."""
    found = lint_yaml(policy(window), "CB004")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_messages_and_place() -> None:
    """Both numbers are printed, and both places are shown."""
    (short,) = lint_yaml(policy("5s"), "CB004")
    assert short.message == (
        "window 5s < attempt_timeout 10s: a hang is counted when its window is over"
    )
    assert short.help == "set window: 20s or more"
    assert (short.span.line, short.span.column) == (9, 51)
    assert [related.span.line for related in short.related] == [8]
    (tight,) = lint_yaml(policy("15s"), "CB004")
    assert tight.message == (
        "window 15s < 2 x attempt_timeout 10s: few outcomes of an outage stand in "
        "the window together"
    )


def test_slow_calls_use_the_window_too() -> None:
    """A slow-call rule alone makes the window count."""
    text = policy("5s", rule="slow_call: {after: 1s, ratio: 50%}")
    (found,) = lint_yaml(text, "CB004")
    assert found.severity is Severity.ERROR


def test_a_window_that_nothing_uses_is_info() -> None:
    """Consecutive failures need no window, so its length can do no harm."""
    (found,) = lint_yaml(policy("5s", rule="failure_threshold: 5"), "CB004")
    assert found.severity is Severity.INFO
    assert found.message.endswith("though only failure_threshold opens this circuit")


@pytest.mark.parametrize(
    "text",
    [
        policy("8 calls"),
        policy("5s", rule="failure_ratio: 50%, mode: disabled"),
        operation_yaml(
            "transport: http\ncircuit_breaker: {failure_ratio: 50%, window: 1s}"
        ),
        operation_yaml(
            "transport: http\nattempt_timeout: 1m\ncircuit_breaker: {failure_ratio: 50%}"
        ),
    ],
)
def test_nothing_to_compare(text: str) -> None:
    """Windows of calls, disabled breakers, no timeout, and the default window."""
    assert lint_yaml(text, "CB004") == []


def test_window_of_a_preset_is_shown_there() -> None:
    """A preset's window against the operation's own timeout shows both."""
    preset = (
        "version: 1\npreset: quick\ndefaults:\n"
        "  circuit_breaker: {failure_ratio: 50%, window: 5s}\n"
    )
    text = operation_yaml(
        "transport: http\nattempt_timeout: 10s", service="extends: [quick]"
    )
    (found,) = lint_yaml(text, "CB004", files={"quick.yaml": preset})
    assert [str(related.span) for related in found.related] == [
        "quick.yaml:4:49",
        "policy.yaml:8:22",
    ]
