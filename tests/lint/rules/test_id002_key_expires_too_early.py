"""ID002: idempotency keys that expire before the last duplicate."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml

CALL = "transport: http\nattempt_timeout: 10s\nretry: {max_attempts: 3, retry_after: off}\n"


@pytest.mark.boundary
@pytest.mark.parametrize(("ttl", "count"), [("60600ms", 0), ("60599ms", 1)])
def test_two_calls_long(ttl: str, count: int) -> None:
    """3 x 10 s + 0.3 s = 30.3 s; twice that is 60.6 s."""
    text = operation_yaml(f"{CALL}idempotency: {{key: [order_id], ttl: {ttl}}}")
    found = lint_yaml(text, "ID002")
    assert [d.message for d in found] == [
        "ttl 1m0.599s < 2 x 30.3s: one call lasts up to 30.3s"
    ] * count


def test_help_is_a_day_at_least() -> None:
    """Keys are cheap: a day, or twice the horizon."""
    text = operation_yaml(f"{CALL}idempotency: {{key: [order_id], ttl: 1m}}")
    (found,) = lint_yaml(text, "ID002")
    assert found.help == "set ttl: 1d"


def worker(ttl: str, queue: str) -> str:
    """A queue that hands items to an operation with a key."""
    return (
        "version: 1\nservice: worker\nowner: w\noperations:\n  handle:\n"
        "    transport: local\n    attempt_timeout: 5s\n"
        f"    idempotency: {{key: [job], ttl: {ttl}}}\n"
        "queues:\n  jobs:\n    store: sqlite\n    path: jobs.db\n    max_size: 10\n"
        f"    consume: {{operation: worker.handle}}\n{queue}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("ttl", "count"), [("314s", 0), ("313999ms", 1)])
def test_last_delivery_of_a_queue(ttl: str, count: int) -> None:
    """4 leases of 30 s and waits of 1 + 12 + 24 s are 157 s; twice that is 314 s."""
    queue = (
        "    lease: 30s\n    max_deliveries: 4\n"
        "    redelivery: {initial: 1s, multiplier: 12, max: 24s}\n"
    )
    found = lint_yaml(worker(ttl, queue), "ID002")
    assert [d.message for d in found] == [
        "ttl 5m13.999s < 2 x 2m37s: the last delivery of queue worker.jobs ends after 2m37s"
    ] * count


@pytest.mark.boundary
def test_age_limit_ends_deliveries() -> None:
    """max_age 40 s and the last lease of 30 s: 70 s, however many deliveries."""
    queue = "    lease: 30s\n    max_deliveries: 100\n    max_age: 40s\n"
    assert lint_yaml(worker("140s", queue), "ID002") == []
    assert len(lint_yaml(worker("139999ms", queue), "ID002")) == 1


@pytest.mark.boundary
@pytest.mark.parametrize(("ttl", "count"), [("314s", 0), ("313999ms", 1)])
def test_deliveries_of_an_unbounded_call(ttl: str, count: int) -> None:
    """A handler without a timeout: the 157 s of its deliveries are a lower bound."""
    queue = (
        "    lease: 30s\n    max_deliveries: 4\n"
        "    redelivery: {initial: 1s, multiplier: 12, max: 24s}\n"
    )
    text = worker(ttl, queue).replace("    attempt_timeout: 5s\n", "")
    assert len(lint_yaml(text, "ID002")) == count


def test_unbounded_deliveries_leave_the_call() -> None:
    """Deliveries without end prove nothing; twice the 5 s of the call still holds."""
    queue = "    lease: 30s\n    max_deliveries: off\n"
    assert lint_yaml(worker("10s", queue), "ID002") == []
    (found,) = lint_yaml(worker("9999ms", queue), "ID002")
    assert found.message == "ttl 9.999s < 2 x 5s: one call lasts up to 5s"


def test_more_than_any_key_can_live() -> None:
    """max_age 200 d and a lease of 30 s: twice that is over the 366 d of a ttl."""
    queue = "    lease: 30s\n    max_deliveries: off\n    max_age: 200d\n"
    (found,) = lint_yaml(worker("1d", queue), "ID002")
    assert found.help == (
        "no key lives longer than 366d: lower max_deliveries or max_age"
    )
    assert found.fix is None


@pytest.mark.boundary
@pytest.mark.parametrize(("ttl", "count"), [("90900ms", 0), ("90899ms", 1)])
def test_safety_can_be_set(ttl: str, count: int) -> None:
    """Three horizons of 30.3 s are 90.9 s."""
    text = operation_yaml(f"{CALL}idempotency: {{key: [order_id], ttl: {ttl}}}")
    found = lint_yaml(text, "ID002", thresholds={"ID002": {"safety": 3}})
    assert [d.message for d in found] == [
        "ttl 1m30.899s < 3 x 30.3s: one call lasts up to 30.3s"
    ] * count


def test_unbounded_calls_prove_nothing() -> None:
    """Without a timeout there is no horizon; TB001 speaks of that."""
    text = operation_yaml("transport: http\nidempotency: {key: [order_id], ttl: 1m}")
    assert lint_yaml(text, "ID002") == []


def test_ttl_of_a_preset_is_shown_there() -> None:
    """An inherited ttl is a related place."""
    preset = "version: 1\npreset: brief\ndefaults:\n  idempotency: {key: [order_id], ttl: 1m}\n"
    text = operation_yaml(CALL, "extends: [brief]")
    (found,) = lint_yaml(text, "ID002", files={"brief.yaml": preset})
    assert str(found.related[0].span) == "brief.yaml:4:39"
