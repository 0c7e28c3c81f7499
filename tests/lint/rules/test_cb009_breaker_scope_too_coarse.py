"""CB009: one circuit for many shards."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


def policy(breaker: str, shards: int | None = 4) -> str:
    """An operation of a callee with so many shards."""
    service = "" if shards is None else f"facts: {{shards: {shards}}}"
    return operation_yaml(f"transport: redis\ncircuit_breaker: {breaker}", service)


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("ratio", "severity", "message"),
    [
        (
            "25%",
            Severity.ERROR,
            (
                "one dead shard of 4 fails 25% of all calls, which reaches 25%: "
                "the circuit opens for all shards"
            ),
        ),
        (
            "25.01%",
            Severity.WARNING,
            (
                "one dead shard of 4 fails 25% of all calls, below 25.01%: "
                "the circuit never opens for it"
            ),
        ),
    ],
)
def test_ratio_against_the_share_of_a_shard(
    ratio: str, severity: Severity, message: str
) -> None:
    """Exactly 1/k opens for all; just above it never opens."""
    (found,) = lint_yaml(policy(f"{{failure_ratio: {ratio}}}"), "CB009")
    assert (found.severity, found.message) == (severity, message)


def test_failures_in_a_row() -> None:
    """(4^5 - 1) / (1 - 1/4) = 1364 calls until five in a row fail."""
    (found,) = lint_yaml(policy("{failure_threshold: 5}"), "CB009")
    assert found.severity is Severity.WARNING
    assert found.message.endswith(
        "5 in a row come about once in 1364 calls and open the circuit for all shards"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("shards", "count"), [(1, 0), (2, 1)])
def test_two_shards_are_the_fewest(shards: int, count: int) -> None:
    """One shard is no shard."""
    assert len(lint_yaml(policy("{failure_ratio: 20%}", shards), "CB009")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        ("33.33%", (Severity.ERROR, "which reaches 33.33%")),
        ("33.34%", (Severity.WARNING, "5 in a row come about once in 363 calls")),
    ],
)
def test_a_ratio_beside_a_threshold(ratio: str, expected: tuple[Severity, str]) -> None:
    """1/3 = 33.333 %; with a higher ratio, (3^5 - 1) / (1 - 1/3) = 363 calls decide."""
    breaker = f"{{failure_ratio: {ratio}, failure_threshold: 5}}"
    (found,) = lint_yaml(policy(breaker, 3), "CB009")
    assert found.severity is expected[0]
    assert expected[1] in found.message


@pytest.mark.boundary
@pytest.mark.parametrize(("threshold", "never"), [(28, False), (29, True)])
def test_a_run_of_over_a_billion_calls_never_comes(threshold: int, never: bool) -> None:
    """(2^28 - 1) x 2 = 536,870,910 calls for 28 of two shards; 1,073,741,822 for 29."""
    (found,) = lint_yaml(policy(f"{{failure_threshold: {threshold}}}", 2), "CB009")
    assert ("practically never" in found.message) == never


def test_slow_calls_of_all_shards_are_one() -> None:
    """A slow-call rule alone is judged without numbers."""
    text = policy("{slow_call: {after: 1s, ratio: 50%}}", 2)
    (found,) = lint_yaml(text, "CB009")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "one dead shard of 2 fails 50% of all calls, and one circuit judges them all"
    )


@pytest.mark.parametrize("threshold", [20, 1000])
def test_runs_that_never_come(threshold: int) -> None:
    """4^20 calls are more than any outage sees, and 4^1000 is no float."""
    (found,) = lint_yaml(policy(f"{{failure_threshold: {threshold}}}"), "CB009")
    assert found.message.endswith(
        f"and {threshold} in a row practically never come: the circuit never opens for it"
    )


@pytest.mark.parametrize(
    "text",
    [
        policy("{failure_ratio: 20%}", None),
        policy("{failure_ratio: 20%}", 1),
        policy('{failure_ratio: 20%, scope: "argument:shard"}'),
        policy("{failure_ratio: 20%, mode: disabled}"),
    ],
)
def test_nothing_to_split(text: str) -> None:
    """One shard, a circuit for each of them, or none at all."""
    assert lint_yaml(text, "CB009") == []


def test_scope_of_a_preset_is_shown_there() -> None:
    """An inherited scope is a related place."""
    preset = (
        "version: 1\npreset: shared\ndefaults:\n"
        "  circuit_breaker: {failure_ratio: 20%, scope: operation}\n"
    )
    text = operation_yaml("transport: redis", "extends: [shared]\nfacts: {shards: 4}")
    (found,) = lint_yaml(text, "CB009", files={"shared.yaml": preset})
    assert str(found.related[0].span) == "shared.yaml:4:48"
