"""CB011: slow-call rules that never fire."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml


def policy(slow: str, facts: str = "", attempt: str = "attempt_timeout: 2s") -> str:
    """An operation with this slow-call rule."""
    return operation_yaml(
        f"transport: http\n{attempt}\ncircuit_breaker: {{slow_call: {slow}}}\n{facts}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("slow", "message"),
    [
        ("{after: 1999ms, ratio: 50%}", None),
        (
            "{after: 2s, ratio: 50%}",
            (
                "slow_call.after 2s >= attempt_timeout 2s: "
                "such calls end as timeouts before they are slow"
            ),
        ),
        ("{after: 1s, ratio: 99%}", None),
        (
            "{after: 1s, ratio: 100%}",
            "slow_call.ratio 100%: one quick call in the window keeps the circuit closed",
        ),
    ],
)
def test_boundaries(slow: str, message: str | None) -> None:
    """1.999 s of 2 s, and 99 % of all calls, are alive."""
    found = lint_yaml(policy(slow), "CB011")
    assert [d.message for d in found] == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("facts", "after"),
    [
        ("", "1s"),
        ("facts: {latency: {p99: 1500ms}}", "1.5s"),
        ("facts: {latency: {p99: 500ms}}", "1s"),
        ("facts: {latency: {p99: 3s}}", "1s"),
    ],
)
def test_help_names_a_better_limit(facts: str, after: str) -> None:
    """The larger of the p99 and half of the timeout, if that is below the timeout."""
    (found,) = lint_yaml(policy("{after: 1m, ratio: 50%}", facts), "CB011")
    assert found.help == f"set after: {after}"


def test_without_a_timeout_any_limit_counts() -> None:
    """Where nothing cuts calls, slow ones are seen."""
    text = policy("{after: 1m, ratio: 50%}", attempt="budget: 2m")
    assert lint_yaml(text, "CB011") == []


def test_rule_of_a_preset_is_shown_there() -> None:
    """An inherited limit is a related place."""
    preset = (
        "version: 1\npreset: slow\ndefaults:\n"
        "  circuit_breaker: {slow_call: {after: 1m, ratio: 50%}}\n"
    )
    text = operation_yaml("transport: http\nattempt_timeout: 2s", "extends: [slow]")
    (found,) = lint_yaml(text, "CB011", files={"slow.yaml": preset})
    assert str(found.related[0].span) == "slow.yaml:4:40"
