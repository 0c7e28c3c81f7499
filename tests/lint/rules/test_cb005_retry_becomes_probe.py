"""CB005: the call that opened the circuit goes on to probe it."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml
from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock

HEAD = "transport: http\nidempotent: true\nattempt_timeout: 2s\n"
RETRY = "retry: {max_attempts: 3, backoff: {initial: 2s, max: 10s, jitter: none}}\n"


def policy(recovery: str, retry: str = RETRY, more: str = "", budget: str = "") -> str:
    """An operation whose circuit stays open this long; its retries wait 2 s and 4 s."""
    return operation_yaml(
        f"{HEAD}{budget}{retry}circuit_breaker: {{recovery_timeout: {recovery}{more}}}"
    )


EXACT = "{initial: %s, jitter: 0%%}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("recovery", "count"),
    [
        (EXACT % "4s", 1),
        (EXACT % "4001ms", 0),
        ("5s", 1),
        ("5001ms", 0),
        ("{initial: 8s, jitter: 50%}", 1),
        ("{initial: 8001ms, jitter: 50%}", 0),
    ],
)
def test_boundary(recovery: str, count: int) -> None:
    """The longest wait is 2 s x 2 = 4 s; equality is reported.

    A break of 5 s with the default jitter of 20 % may last 4 s, one of 8 s with 50 % too.
    """
    assert len(lint_yaml(policy(recovery), "CB005")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("backoff", "longest"),
    [
        ("{initial: 2s, max: 3s, jitter: none}", 3000),
        ("{initial: 2s, multiplier: 1, jitter: full}", 2000),
        ("{initial: 2s, max: 10s, jitter: equal}", 4000),
        ("{initial: 2s, max: 10s, jitter: 0.5}", 6000),
        ("{initial: 1s, max: 20s, jitter: decorrelated}", 9000),
    ],
)
def test_the_longest_jitter_counts(backoff: str, longest: int) -> None:
    """4 s cut to 3 s; 2 s each; 4 s; 4 s x 1.5; and decorrelated 1 s x 3 x 3."""
    retry = f"retry: {{max_attempts: 3, backoff: {backoff}}}\n"
    assert len(lint_yaml(policy(EXACT % f"{longest}ms", retry), "CB005")) == 1
    assert lint_yaml(policy(EXACT % f"{longest + 1}ms", retry), "CB005") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "count"),
    [
        ("budget: 3s\n", 0),
        ("budget: 3001ms\n", 1),
        ("budget: {total: 5s, minimum: 2s}\n", 0),
        ("budget: {total: 5s, minimum: 1999ms}\n", 1),
        ("budget: {inherit: true}\n", 1),
    ],
)
def test_the_budget_bounds_a_wait(budget: str, count: int) -> None:
    """A wait of 3 s needs a budget over 3 s, or over 3 s and its minimum."""
    assert len(lint_yaml(policy(EXACT % "3s", budget=budget), "CB005")) == count


def test_message_and_place() -> None:
    """The shortest break and the longest wait are printed, at the recovery timeout."""
    (found,) = lint_yaml(policy("5s"), "CB005")
    assert found.message == (
        "recovery_timeout 5s - 20% = 4s <= 4s of wait before a retry: "
        "the call that opened the circuit can be its probe"
    )
    assert found.help == "set recovery_timeout: 7.5s"
    assert (found.span.line, found.span.column) == (10, 41)
    (plain,) = lint_yaml(policy(EXACT % "3s"), "CB005")
    assert plain.message.startswith("recovery_timeout 3s <= 4s of wait before a retry")
    assert plain.help == "set recovery_timeout: 6s"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("most", "help"),
    [
        ("7500ms", "set recovery_timeout: 7.5s"),
        (
            "7499ms",
            "set recovery_timeout: {initial: 7.5s}, with max at least as long",
        ),
    ],
)
def test_advice_within_the_longest_break(most: str, help: str) -> None:
    """1.5 x 4 s / (1 - 20 %) = 7.5 s; a longer break than its max would be no policy."""
    (found,) = lint_yaml(policy(f"{{initial: 5s, max: {most}}}"), "CB005")
    assert found.help == help
    assert (found.fix is None) == (most == "7499ms")


def test_a_break_that_may_last_no_time_gets_no_number() -> None:
    """With 100 % of jitter no length helps."""
    (found,) = lint_yaml(policy("{initial: 5m, jitter: 100%}"), "CB005")
    assert found.help == (
        "lower retry.backoff.max, and recovery_timeout.jitter if it is near 100%"
    )
    assert found.fix is None


def test_a_rejected_retry_ends_the_call() -> None:
    """The runtime agrees: 4 s of wait outlast a break of 4 s, and not one of 4.001 s."""
    for recovery, attempts in ((4.0, 3), (4.001, 2)):
        guarded = Policy(
            service="a",
            operation=f"b{attempts}",
            retry=settings.Retry(
                max_attempts=3,
                backoff=settings.Backoff(
                    initial=2.0, multiplier=2.0, max=10.0, jitter="none"
                ),
                retry_on=("ConnectionError",),
            ),
            circuit_breaker=settings.CircuitBreaker(
                failure_threshold=2,
                recovery_timeout=settings.Recovery(initial=recovery, jitter=0.0),
                record_on=("ConnectionError",),
            ),
        )
        calls: list[None] = []

        def fail(made: list[None] = calls) -> None:
            made.append(None)
            raise ConnectionError

        with fake_clock(), pytest.raises(ConnectionError):
            guarded.call(fail)
        assert len(calls) == attempts


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
    assert finding.help.startswith("lower retry.backoff.max")
    assert finding.fix is None
