"""CB005: the call that opened the circuit goes on to probe it."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\nattempt_timeout: 2s\n"
RETRY = "retry: {max_attempts: 3, backoff: {initial: 1s, max: 4s}}\n"


def policy(recovery: str, retry: str = RETRY, more: str = "") -> str:
    """An operation whose circuit stays open this long."""
    return operation_yaml(
        f"{HEAD}{retry}circuit_breaker: {{recovery_timeout: {recovery}{more}}}"
    )


@pytest.mark.parametrize(("recovery", "count"), [("7s", 1), ("7001ms", 0), ("5s", 1)])
def test_boundary(recovery: str, count: int) -> None:
    """1 s + 2 s of waits and 2 x 2 s of attempts are 7 s; equality is reported."""
    assert len(lint_yaml(policy(recovery), "CB005")) == count


def test_message_and_place() -> None:
    """The sum is printed with its parts, at the recovery timeout."""
    (found,) = lint_yaml(policy("5s"), "CB005")
    assert found.message == (
        "recovery_timeout 5s <= 7s of one call's retries (3s of waits + 2 x 2s): "
        "the call that opened the circuit can be its probe"
    )
    assert found.help == "set recovery_timeout: 11s"
    assert (found.span.line, found.span.column) == (10, 41)


def test_the_longest_jitter_counts() -> None:
    """With +/-50 % the waits may be 1.5 s + 3 s, so 8.5 s in all."""
    retry = RETRY.replace("max: 4s", "max: 4s, jitter: 0.5")
    assert len(lint_yaml(policy("8500ms", retry), "CB005")) == 1
    assert lint_yaml(policy("8501ms", retry), "CB005") == []


@pytest.mark.parametrize(
    "text",
    [
        policy("1s", ""),
        policy("1s", "retry: {max_attempts: 1}\n"),
        policy("1s", more=", mode: observe"),
        policy("1s", more=", mode: disabled"),
    ],
)
def test_no_retry_or_no_rejection(text: str) -> None:
    """Without retries, or with a breaker that rejects nobody, nothing can happen."""
    assert lint_yaml(text, "CB005") == []


def test_defaults_are_sound() -> None:
    """Three attempts with the default back-off end long before the default 30 s."""
    text = operation_yaml(f"{HEAD}retry: {{}}\ncircuit_breaker: {{}}")
    assert lint_yaml(text, "CB005") == []


def test_control_loops_probe_on_purpose() -> None:
    """A loop that tries for ever is meant to find out when the callee is back."""
    text = operation_yaml(
        f"{HEAD}{RETRY}circuit_breaker: {{recovery_timeout: 1s}}",
        service="class: control_loop",
    )
    assert lint_yaml(text, "CB005") == []


def test_recovery_of_a_preset_is_shown_there() -> None:
    """An inherited recovery timeout is a related place."""
    preset = (
        "version: 1\npreset: eager\ndefaults:\n"
        "  circuit_breaker: {recovery_timeout: 1s}\n"
    )
    text = operation_yaml(HEAD + RETRY, service="extends: [eager]")
    (found,) = lint_yaml(text, "CB005", files={"eager.yaml": preset})
    assert str(found.related[0].span) == "eager.yaml:4:39"


def test_waits_without_end_get_no_break_to_outlast_them() -> None:
    """No break can last 10^999 times 250 ms, so the help names what to lower, and there is no fix."""
    (finding,) = lint_yaml(
        operation_yaml(
            "transport: http\nidempotent: true\nattempt_timeout: 250ms\n"
            "retry: {max_attempts: 1000, backoff: {initial: 250ms, multiplier: 10, max: off}}\n"
            "circuit_breaker: {}"
        ),
        "CB005",
    )
    assert finding.help is not None
    assert finding.help.startswith("lower retry.max_attempts or retry.backoff.max")
    assert finding.fix is None
