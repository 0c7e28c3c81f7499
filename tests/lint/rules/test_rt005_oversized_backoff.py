"""RT005: back-off that grows past all use."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(backoff: str, attempts: int | str = 3, budget: str | None = "10s") -> str:
    """An operation with this back-off."""
    total = "" if budget is None else f"budget: {budget}\n"
    return operation_yaml(
        f"{HEAD}{total}retry: {{max_attempts: {attempts}, backoff: {backoff}}}"
    )


def test_the_example_of_the_catalogue() -> None:
    """1 + 3 + 9 + … + 729 s = 1093 s: nothing caps eight attempts at factor 3."""
    text = policy("{initial: 1s, multiplier: 3, max: off}", 8, None)
    (found,) = lint_yaml(text, "RT005")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "nothing caps the back-off: the wait before the last of 7 retries is 12m9s, "
        "all waits together 18m13s"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("backoff", "attempts", "budget", "count"),
    [
        ("{initial: 15s, multiplier: 2, max: off}", 3, None, 0),
        ("{initial: 15001ms, multiplier: 2, max: off}", 3, None, 1),
        ("{initial: 20s, multiplier: 2, max: off}", 3, "40s", 0),
        ("{initial: 20001ms, multiplier: 2, max: off}", 3, "40s", 2),
        ("{initial: 1s, multiplier: 1, max: off}", 1000, None, 0),
        ("{initial: 31s, multiplier: 1, max: off}", 3, None, 0),
        ("{initial: 31s, multiplier: 2, max: off}", 1, "10s", 0),
        ("{initial: 10s, multiplier: 2, max: off, jitter: 0.5}", 3, None, 0),
        ("{initial: 10001ms, multiplier: 2, max: off, jitter: 0.5}", 3, None, 1),
        ("{initial: 10s, multiplier: 1, max: off, jitter: decorrelated}", 2, None, 0),
        ("{initial: 3333ms, max: off, jitter: decorrelated}", 3, None, 0),
        ("{initial: 3334ms, max: off, jitter: decorrelated}", 3, None, 1),
        (
            "{initial: 10001ms, multiplier: 1, max: off, jitter: decorrelated}",
            2,
            None,
            1,
        ),
    ],
)
def test_uncapped_growth(
    backoff: str, attempts: int, budget: str | None, count: int
) -> None:
    """The last wait may be up to 30 s or the budget, whichever is larger.

    2 x 15 s = 30 s; 2 x 20 s = 40 s; 1.5 x 2 x 10 s = 30 s; 3 x 10 s = 30 s;
    9 x 3.333 s = 29.997 s.
    """
    text = policy(backoff, attempts, budget)
    assert len(lint_yaml(text, "RT005")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("cap", "count"), [("10s", 0), ("10001ms", 1)])
def test_stated_cap_over_the_budget(cap: str, count: int) -> None:
    """A cap as long as the budget is allowed, a longer one can never be waited for."""
    found = lint_yaml(policy(f"{{initial: 1s, max: {cap}}}"), "RT005")
    assert len(found) == count


def test_default_cap_is_no_finding() -> None:
    """The built-in cap of 5 s over a budget of 3 s is nobody's mistake."""
    assert lint_yaml(policy("{initial: 100ms}", 3, "3s"), "RT005") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("budget", "count"), [("3200ms", 0), ("3199ms", 1)])
def test_default_cap_is_judged_by_the_last_wait(budget: str, count: int) -> None:
    """0.2, 0.4, 0.8, 1.6, 3.2 s: the fifth retry may wait for 3.2 s, under the 5 s cap."""
    found = lint_yaml(policy("{initial: 200ms}", 6, budget), "RT005")
    assert len(found) == count


def test_default_cap_counts_when_waits_reach_past_the_budget() -> None:
    """0.4 s to 5 s in six retries: the last wait of 5 s is over the budget of 4 s."""
    (found,) = lint_yaml(policy("{initial: 400ms}", 7, "4s"), "RT005")
    assert found.message == "max 5s > budget 4s: no wait can be that long"
    assert found.help == "set max: 1s"


@pytest.mark.boundary
@pytest.mark.parametrize(("initial", "count"), [("5s", 0), ("5001ms", 1)])
def test_first_wait_against_half_of_the_budget(initial: str, count: int) -> None:
    """Half of the budget is allowed for the first wait."""
    found = lint_yaml(policy(f"{{initial: {initial}, max: 10s}}"), "RT005")
    assert len(found) == count
    if found:
        assert found[0].message == (
            "the first wait of 5.001s is over half of the budget of 10s"
        )


def test_growth_past_all_numbers() -> None:
    """0.1 s x 2^4998 is over what a float holds."""
    (found,) = lint_yaml(policy("{max: off}", 5000, None), "RT005")
    assert found.message == "nothing caps the back-off: it grows without end"


@pytest.mark.boundary
@pytest.mark.parametrize(("deliveries", "count"), [(1, 0), (2, 1)])
def test_a_single_delivery_waits_for_nothing(deliveries: int, count: int) -> None:
    """Redelivery begins with the second delivery."""
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: sqlite\n"
        "    path: jobs.db\n    max_size: 10\n    max_age: 1h\n"
        f"    max_deliveries: {deliveries}\n    redelivery: {{initial: 5s, max: 2h}}\n"
    )
    assert len(lint_yaml(text, "RT005")) == count


def test_unlimited_retries_need_a_cap() -> None:
    """A control loop that doubles without a cap grows without end."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: unlimited, backoff: {{max: off}}}}",
        service="class: control_loop",
    )
    (found,) = lint_yaml(text, "RT005")
    assert found.message == "nothing caps the back-off: it grows without end"
    assert found.help == "set max: 30s"


@pytest.mark.boundary
@pytest.mark.parametrize(("initial", "count"), [("1m", 0), ("60001ms", 1)])
def test_longest_can_be_set(initial: str, count: int) -> None:
    """A project may allow uncapped waits of 2 min: 2 x 1 min."""
    text = policy(f"{{initial: {initial}, multiplier: 2, max: off}}", 3, None)
    found = lint_yaml(text, "RT005", thresholds={"RT005": {"longest": "2m"}})
    assert [d.message for d in found] == [
        (
            "nothing caps the back-off: the wait before the last of 2 retries is 2m0.002s, "
            "all waits together 3m0.003s"
        )
    ] * count


@pytest.mark.parametrize(
    ("backoff", "helps"),
    [
        ("{initial: 2500ms, max: 20s}", ["set max: 2.5s"]),
        ("{initial: 2501ms, max: 20s}", ["set initial: 1s and max: 2.5s"]),
        (
            "{initial: 6s, max: 20s}",
            ["set initial: 1s or less", "set initial: 1s and max: 2.5s"],
        ),
    ],
)
def test_advice_is_a_backoff_that_can_be(backoff: str, helps: list[str]) -> None:
    """A cap below the first wait would be refused, so both are named."""
    found = lint_yaml(policy(backoff), "RT005")
    assert sorted(d.help or "" for d in found) == sorted(helps)
    for finding in found:
        assert finding.fix is not None
        assert finding.help is not None
        assert len(finding.fix.edits) == finding.help.count(":")


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("redelivery", "max_age", "keys"),
    [
        ("{initial: 5s, max: 5m}", "1h", []),
        ("{initial: 5s, max: 1h}", "1h", []),
        ("{initial: 5s, max: 3600001ms}", "1h", ["redelivery.max"]),
        ("{initial: 30m, max: 1h}", "1h", []),
        ("{initial: 1800001ms, max: 1h}", "1h", ["redelivery.initial"]),
        ("{initial: 450s, multiplier: 2, max: off}", "1h", []),
        ("{initial: 450001ms, multiplier: 2, max: off}", "1h", ["redelivery.max"]),
        ("{initial: 5s, max: 2h}", "1h", ["redelivery.max"]),
        ("{initial: 31m, max: 1h}", "1h", ["redelivery.initial"]),
        ("{initial: 20m, multiplier: 4, max: off}", "1h", ["redelivery.max"]),
        ("{initial: 5s, max: 2h}", None, []),
    ],
)
def test_redelivery_is_measured_against_the_age_limit(
    redelivery: str, max_age: str | None, keys: list[str]
) -> None:
    """Waits between deliveries must end before the item does.

    The last of the four waits between five deliveries is 8 x 450 s = 1 h.
    """
    age = f"    max_age: {max_age}\n" if max_age else ""
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: sqlite\n"
        f"    path: jobs.db\n    max_size: 10\n{age}    redelivery: {redelivery}\n"
    )
    found = lint_yaml(text, "RT005")
    assert [d.policy_path for d in found] == [f"worker.queues.jobs.{k}" for k in keys]


def test_cap_of_a_preset_is_shown_there() -> None:
    """An inherited cap counts as stated, and the preset is a related place."""
    preset = "version: 1\npreset: slow\ndefaults:\n  retry:\n    backoff: {max: 1m}\n"
    text = operation_yaml(f"{HEAD}budget: 10s", service="extends: [slow]")
    (found,) = lint_yaml(text, "RT005", files={"slow.yaml": preset})
    assert found.severity is Severity.WARNING
    assert str(found.related[0].span) == "slow.yaml:5:20"
