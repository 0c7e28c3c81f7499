"""HY002: numbers that look like the wrong unit."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        ("10m", None),
        (
            "600001ms",
            "attempt_timeout 10m0.001s > 10m for a call over the network",
        ),
        ("1ms", None),
        ("999us", "attempt_timeout 999us < 1ms for a call over the network"),
    ],
)
def test_attempts(attempt: str, message: str | None) -> None:
    """10 minutes and 1 ms are still believed."""
    text = operation_yaml(f"transport: http\nattempt_timeout: {attempt}")
    found = lint_yaml(text, "HY002")
    assert [d.message for d in found] == ([] if message is None else [message])
    if found:
        assert (found[0].span.line, found[0].span.column) == (7, 22)


@pytest.mark.boundary
@pytest.mark.parametrize(("floor", "count"), [("1000/s", 0), ("1001/s", 1)])
def test_floor_of_a_retry_budget(floor: str, count: int) -> None:
    """1,000 retries/s of one process are still believed."""
    text = operation_yaml(
        f"transport: http\nidempotent: true\nretry: {{budget: {{floor: {floor}}}}}"
    )
    found = lint_yaml(text, "HY002")
    assert [d.message for d in found] == [
        "floor 1001/s > 1000/s retries of each process"
    ] * count


def test_batch_and_local_work_is_not_measured() -> None:
    """Jobs may run for an hour, and calls inside the process for a microsecond."""
    slow = "transport: http\nattempt_timeout: 1h"
    assert lint_yaml(operation_yaml(slow, service="class: batch"), "HY002") == []
    quick = "transport: local\nattempt_timeout: 10us"
    assert lint_yaml(operation_yaml(quick), "HY002") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("settings", "attempt", "floor", "count"),
    [
        ({"longest": "2h"}, "2h", "1/s", 0),
        ({"longest": "2h"}, "7201s", "1/s", 1),
        ({"shortest": "10ms"}, "10ms", "1/s", 0),
        ({"shortest": "10ms"}, "9ms", "1/s", 1),
        ({"highest_floor": 5}, "1s", "5/s", 0),
        ({"highest_floor": 5}, "1s", "6/s", 1),
    ],
)
def test_thresholds_can_be_set(
    settings: dict[str, object], attempt: str, floor: str, count: int
) -> None:
    """Two hours are 7,200 s; each threshold is still believed itself."""
    text = operation_yaml(
        f"transport: http\nidempotent: true\nattempt_timeout: {attempt}\n"
        f"retry: {{budget: {{floor: {floor}}}}}"
    )
    found = lint_yaml(text, "HY002", thresholds={"HY002": settings})
    assert len(found) == count


def test_nothing_stated_is_no_slip() -> None:
    """Without a timeout and a retry budget there is no number to doubt."""
    assert lint_yaml(operation_yaml("transport: http\nretry: off"), "HY002") == []


def test_timeout_of_a_preset_is_shown_there() -> None:
    """An inherited timeout is a related place."""
    preset = "version: 1\npreset: slow\ndefaults: {attempt_timeout: 1h}\n"
    text = operation_yaml("transport: http", service="extends: [slow]")
    (found,) = lint_yaml(text, "HY002", files={"slow.yaml": preset})
    assert str(found.related[0].span) == "slow.yaml:3:29"
