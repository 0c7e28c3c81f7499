"""RL001: rate limits below the traffic that they are for."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(
    limit: str, facts: str = "{rate: 500/s, callers: 4}", service: str = ""
) -> str:
    """An operation with this limit."""
    return operation_yaml(
        f"transport: http\nfacts: {facts}\nrate_limit: {limit}",
        f"redis: {{url_env: POLICY_REDIS_URL}}\n{service}",
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("limit", "count"),
    [
        ("{rate: 125/s}", 0),
        ("{rate: 7499/m}", 1),
        ("{rate: 500/s, store: redis}", 0),
        ("{rate: 499.9/s, store: redis}", 1),
        ("{rate: 1/s, mode: observe}", 0),
    ],
)
def test_planned_traffic(limit: str, count: int) -> None:
    """Four processes share 500/s, 4 x 7500/m; a shared limit counts once."""
    found = lint_yaml(policy(limit), "RL001")
    assert [d.severity for d in found] == [Severity.ERROR] * count


def test_messages() -> None:
    """The sum over all processes and the share of refused calls are printed."""
    (found,) = lint_yaml(policy("{rate: 100/s}"), "RL001")
    assert found.message == (
        "4 processes x 100/s = 400/s < 500/s of first tries: 20% of healthy calls are "
        "refused"
    )
    assert found.help == "set rate: 125/s or more"
    (two,) = lint_yaml(policy("{rate: 100/s}", "{rate: 500/s, callers: 2}"), "RL001")
    assert two.message.startswith("2 processes x 100/s = 200/s < 500/s")
    (one,) = lint_yaml(policy("{rate: 100/s}", "{rate: 500/s, callers: 1}"), "RL001")
    assert one.message.startswith("100/s < 500/s")
    (shared,) = lint_yaml(policy("{rate: 400/s, store: redis}"), "RL001")
    assert shared.message.startswith("400/s < 500/s of first tries")


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("800/s", 0), ("799.9/s", 1)])
def test_limits_that_protect_nobody(capacity: str, count: int) -> None:
    """4 x 200/s are more than the callee can take."""
    text = policy("{rate: 200/s}", service=f"facts: {{capacity: {capacity}}}")
    found = lint_yaml(text, "RL001")
    assert [(d.severity, d.message, d.help) for d in found] == [
        (
            Severity.WARNING,
            (
                "4 processes x 200/s = 800/s > capacity 799.9/s of payment_api: the limit "
                "does not protect it"
            ),
            "set rate: 200/s or less, or store: redis",
        )
    ] * count


FACTS = "payment_api.operations.charge.facts."
CAPACITY = "facts: {capacity: 500/s}"


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("limit", "facts", "service", "absent"),
    [
        ("{rate: 200/s}", "{rate: 5/s}", CAPACITY, [f"{FACTS}callers"]),
        ("{rate: 100/s}", "{callers: 4}", CAPACITY, [f"{FACTS}rate"]),
        (
            "{rate: 200/s}",
            "{latency: {p50: 1s}}",
            CAPACITY,
            [f"{FACTS}callers", f"{FACTS}rate"],
        ),
        (
            "{rate: 100/s}",
            "{rate: 5/s, callers: 4}",
            "",
            ["payment_api.facts.capacity"],
        ),
        (
            "{rate: 100/s, store: redis}",
            "{latency: {p50: 1s}}",
            CAPACITY,
            [f"{FACTS}rate"],
        ),
    ],
)
def test_missing_facts_are_named(
    limit: str, facts: str, service: str, absent: list[str]
) -> None:
    """Rate, callers and capacity are needed; a shared limit needs no callers."""
    result = run_yaml(policy(limit, facts, service), "RL001")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == absent


def test_each_clause_speaks_by_itself() -> None:
    """A limit over the capacity protects nobody at any rate, one below the rate refuses."""
    over = policy("{rate: 126/s}", "{callers: 4}", CAPACITY)
    (found,) = lint_yaml(over, "RL001")
    assert found.message.startswith("4 processes x 126/s = 504/s > capacity 500/s")
    below = policy("{rate: 1/s, store: redis}", "{rate: 5/s}")
    assert len(lint_yaml(below, "RL001")) == 1


def test_limit_of_a_preset_is_shown_there() -> None:
    """An inherited limit is a related place."""
    preset = "version: 1\npreset: slow\ndefaults:\n  rate_limit: {rate: 1/s}\n"
    text = operation_yaml(
        "transport: http\nfacts: {rate: 500/s, callers: 4}", "extends: [slow]"
    )
    (found,) = lint_yaml(text, "RL001", files={"slow.yaml": preset})
    assert str(found.related[0].span) == "slow.yaml:4:22"
