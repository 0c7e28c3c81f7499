"""RT001: more attempts than help."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\n"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "class_", "severity"),
    [
        ("3", "online", None),
        ("4", "online", Severity.WARNING),
        ("5", "online", Severity.WARNING),
        ("6", "online", Severity.ERROR),
        ("3", "batch", None),
        ("6", "batch", Severity.WARNING),
    ],
)
def test_boundaries(attempts: str, class_: str, severity: Severity | None) -> None:
    """Over 3 is a warning; over 5 is an error, but for batch work."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: {attempts}}}", service=f"class: {class_}"
    )
    assert [d.severity for d in lint_yaml(text, "RT001")] == (
        [] if severity is None else [severity]
    )


def test_message_and_place() -> None:
    """The message says what the attempts do to the callee, at the number."""
    text = operation_yaml(f"{HEAD}retry:\n  max_attempts: 7")
    (found,) = lint_yaml(text, "RT001")
    assert found.message == (
        "7 attempts are more than 3: when every try fails, the load on "
        "payment_api.charge grows up to 7 times"
    )
    assert found.help == "set max_attempts: 3"
    assert (found.span.line, found.span.column) == (9, 21)
    assert found.policy_path == "payment_api.operations.charge.retry.max_attempts"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("backoff", "problem"),
    [
        ("{initial: 1s, max: 10s}", None),
        ("{initial: 1s, max: 9999ms}", "never exceeds 9.999s"),
        ("{initial: 10s, multiplier: 1, max: off}", None),
        ("{initial: 1s, multiplier: 1, max: 1m}", "stays at 1s"),
        ("{initial: 9999ms, multiplier: 1, max: 1m}", "stays at 9.999s"),
        ("{initial: 1s, multiplier: 1, max: 10s, jitter: decorrelated}", None),
        ("{initial: 0s, max: 1m}", "stays at 0s"),
        ("{initial: 1s, max: off}", "grows without a cap"),
        ("{initial: 1s, max: 10s, jitter: none}", "has no jitter"),
    ],
)
def test_control_loops_need_a_calm_backoff(backoff: str, problem: str | None) -> None:
    """A control loop may try for ever at 10 s or more, with jitter."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: unlimited, backoff: {backoff}}}",
        service="class: control_loop",
    )
    found = lint_yaml(text, "RT001")
    assert [d.message.rpartition("this one ")[2] for d in found] == (
        [] if problem is None else [problem]
    )


@pytest.mark.parametrize(
    ("backoff", "help"),
    [
        ("{initial: 1s, max: 5s}", "set backoff.max: 10s or more"),
        ("{initial: 1s, max: off}", "set backoff.max: 10s or more"),
        ("{initial: 1s, multiplier: 1, max: 1m}", "set backoff.multiplier: 2"),
        ("{initial: 1s, multiplier: 1, max: 10s}", "set backoff.multiplier: 2"),
        (
            "{initial: 1s, multiplier: 1, max: 5s}",
            "set backoff.multiplier: 2 and max: 10s or more",
        ),
        ("{initial: 1s, max: 10s, jitter: none}", "set backoff.jitter: full"),
    ],
)
def test_advice_for_control_loops_ends_the_finding(backoff: str, help: str) -> None:
    """A back-off that does not grow is told to, and to what."""
    retry = f"retry: {{max_attempts: unlimited, backoff: {backoff}}}"
    text = operation_yaml(f"{HEAD}{retry}", service="class: control_loop")
    (found,) = lint_yaml(text, "RT001")
    assert found.help == help


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempts", "severity"),
    [("7", Severity.WARNING), ("8", Severity.ERROR), ("4", Severity.WARNING)],
)
def test_error_threshold_can_be_set(attempts: str, severity: Severity) -> None:
    """With error-above 7, seven attempts are a warning and eight an error."""
    text = operation_yaml(f"{HEAD}retry: {{max_attempts: {attempts}}}")
    (found,) = lint_yaml(text, "RT001", thresholds={"RT001": {"error-above": 7}})
    assert found.severity is severity


@pytest.mark.boundary
@pytest.mark.parametrize(("cap", "count"), [("20s", 0), ("19999ms", 1)])
def test_loop_backoff_can_be_set(cap: str, count: int) -> None:
    """A project may ask for 20 s of its control loops."""
    retry = f"retry: {{max_attempts: unlimited, backoff: {{initial: 1s, max: {cap}}}}}"
    text = operation_yaml(f"{HEAD}{retry}", service="class: control_loop")
    found = lint_yaml(text, "RT001", thresholds={"RT001": {"loop_backoff": "20s"}})
    assert [d.message for d in found] == [
        (
            "a control loop with more than 3 attempts needs a back-off with jitter and a cap "
            "of at least 20s; this one never exceeds 19.999s"
        )
    ] * count


def test_threshold_can_be_set() -> None:
    """The configuration can allow more attempts, in any spelling of the key."""
    text = operation_yaml(f"{HEAD}retry: {{max_attempts: 5}}")
    assert lint_yaml(text, "RT001", thresholds={"RT001": {"max_attempts": 5}}) == []
    by_name = {"too-many-attempts": {"max-attempts": 4}}
    (found,) = lint_yaml(text, "RT001", thresholds=by_name)
    assert found.message.startswith("5 attempts are more than 4")


def test_attempts_under_defaults_are_the_place() -> None:
    """A number of the same file is shown where it stands, with its operation."""
    text = operation_yaml(
        HEAD, service="defaults:\n  retry: {max_attempts: 8}  # from the old system"
    )
    (found,) = lint_yaml(text, "RT001")
    assert (found.span.line, found.span.column) == (5, 25)
    assert [(r.span.line, r.message) for r in found.related] == [
        (7, "applies to payment_api.charge")
    ]


def test_override_is_reported_once_and_only_for_what_it_changes() -> None:
    """A caller's override is a policy of its own; what it inherits is not repeated."""
    callee = operation_yaml(f"{HEAD}retry: {{max_attempts: 7, retry_on: [timeout]}}")
    caller = (
        "version: 1\nservice: shop\nowner: shop-team\ncalls:\n"
        "  - {to: payment_api.charge, override: {%s}}\n"
    )
    inherits = caller % "attempt_timeout: 1s"
    both = f"{callee}---\n{inherits}"
    assert [d.policy_path for d in lint_yaml(both, "RT001")] == [
        "payment_api.operations.charge.retry.max_attempts"
    ]
    changes = f"{callee}---\n{caller % 'retry: {max_attempts: 9}'}"
    assert [d.policy_path for d in lint_yaml(changes, "RT001")] == [
        "payment_api.operations.charge.retry.max_attempts",
        "shop.calls[payment_api.charge].override.retry.max_attempts",
    ]
