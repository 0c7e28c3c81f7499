"""RL001: rate limits below the traffic that they are for."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

REDIS = "redis: {url_env: POLICY_REDIS_URL}"


def policy(
    limit: str, facts: str = "{rate: 500/s, callers: 4}", service: str = ""
) -> str:
    """An operation with this limit."""
    return operation_yaml(
        f"transport: http\nfacts: {facts}\nrate_limit: {limit}",
        f"{REDIS}\n{service}",
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
            (
                "set rate: 199/s or less, or store: redis, and rate: 799/s for all "
                "processes"
            ),
        )
    ] * count


@pytest.mark.parametrize(
    ("limit", "facts", "help_line"),
    [
        (
            "{rate: 500/s}",
            "{rate: 500/s, callers: 4}",
            "set rate: 125/s or less, or store: redis",
        ),
        (
            "{rate: 499/s}",
            "{rate: 500/s, callers: 4}",
            "set rate: 125/s or less, or store: redis, and rate: 500/s for all processes",
        ),
        (
            "{rate: 501/s, store: redis}",
            "{rate: 500/s, callers: 4}",
            "set rate: 500/s or less",
        ),
        (
            "{rate: 501/s}",
            "{rate: 501/s, callers: 4}",
            "add capacity: first tries alone are 501/s",
        ),
    ],
)
def test_advice_for_limits_that_protect_nobody(
    limit: str, facts: str, help_line: str
) -> None:
    """One limit for all keeps its rate where that serves all and fits the capacity."""
    text = policy(limit, facts, "facts: {capacity: 500/s}")
    assert [d.help for d in lint_yaml(text, "RL001")] == [help_line]


def test_advice_names_the_address_of_the_shared_store() -> None:
    """Without an address ``store: redis`` alone would not be valid."""
    text = policy("{rate: 500/s}", service=CAPACITY).replace(f"{REDIS}\n", "")
    (found,) = lint_yaml(text, "RL001")
    assert found.help == (
        "set rate: 125/s or less, or store: redis with redis: {url_env: REDIS_URL} in "
        "the service"
    )
    typed = text.replace("{rate: 500/s}", "{rate: 500/s, store: redis}")
    typed = typed.replace("owner:", "redis: {url_env: REDIS_URL}\nowner:")
    assert lint_yaml(typed, "RL001") == []


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


def test_the_advised_rate_is_enough() -> None:
    """A third of 1000/s is rounded up, so that nothing is refused any longer."""
    facts = "{rate: 1000/s, callers: 3}"
    (found,) = lint_yaml(policy("{rate: 100/s}", facts), "RL001")
    assert found.help == "set rate: 334/s or more"
    assert lint_yaml(policy("{rate: 334/s}", facts), "RL001") == []


def inbound(limit: str, facts: str = "instances: 4", rate: str = "500/s") -> str:
    """A service with this limit in front, and an operation of this rate."""
    return operation_yaml(
        f"transport: http\nfacts: {{rate: {rate}}}",
        f"redis: {{url_env: R}}\nfacts: {{{facts}}}\ninbound: {{rate_limit: {limit}}}",
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("limit", "facts", "count"),
    [
        ("{rate: 125/s}", "instances: 4", 0),
        ("{rate: 124/s}", "instances: 4", 1),
        ("{rate: 124/s, mode: observe}", "instances: 4", 0),
        ("{rate: 500/s, store: redis}", "instances: 4", 0),
        ("{rate: 499/s, store: redis}", "instances: 4", 1),
        ("{rate: 62500/m}", "instances: 1, cache: {hit_ratio: 50%}", 0),
        ("{rate: 249/s}", "instances: 1, cache: {hit_ratio: 50%}", 1),
        ("{rate: 250/s}", "instances: 1, cache: {hit_ratio: 50%}", 0),
    ],
)
def test_limits_in_front_of_a_service(limit: str, facts: str, count: int) -> None:
    """Four instances share 500/s; half of them hit a cache before the limit."""
    assert len(lint_yaml(inbound(limit, facts), "RL001")) == count


def test_message_of_a_limit_in_front() -> None:
    """4 x 100/s of 500/s refuse a fifth."""
    (found,) = lint_yaml(inbound("{rate: 100/s}"), "RL001")
    assert found.message == (
        "4 instances x 100/s = 400/s < 500/s of first tries: 20% of healthy requests are "
        "refused"
    )
    assert found.help == "set rate: 125/s or more"
    assert found.policy_path == "payment_api.inbound.rate_limit.rate"


@pytest.mark.missing_facts
def test_a_limit_in_front_needs_instances_and_rates() -> None:
    """Without instances nothing is added up; without rates nothing is compared."""
    for text, fact in (
        (inbound("{rate: 1/s}", "workers: 4"), "payment_api.facts.instances"),
        (
            inbound("{rate: 1/s}").replace("facts: {rate: 500/s}", "kind: unary"),
            "payment_api.operations.charge.facts.rate",
        ),
    ):
        result = run_yaml(text, "RL001")
        assert result.diagnostics == ()
        assert [s.fact for s in result.coverage.skipped] == [fact]
