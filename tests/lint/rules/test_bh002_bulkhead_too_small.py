"""BH002: bulkheads that healthy traffic fills."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(
    slots: int,
    facts: str = "{rate: 200/s, callers: 1, latency: {mean: 100ms}}",
    more: str = "",
) -> str:
    """An operation with so many slots; 20 calls are in flight by default."""
    return operation_yaml(
        f"transport: http\nfacts: {facts}\nbulkhead: {{max_concurrent: {slots}{more}}}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("slots", "severity"),
    [
        (19, Severity.ERROR),
        (20, Severity.WARNING),
        (34, Severity.WARNING),
        (35, None),
    ],
)
def test_boundaries(slots: int, severity: Severity | None) -> None:
    """20 in flight need 20 slots; B(34, 20) = 0.115 %, B(35, 20) = 0.066 %."""
    found = lint_yaml(policy(slots), "BH002")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


def test_messages_and_advice() -> None:
    """Both messages print Little's law, and the advice is Erlang's."""
    (small,) = lint_yaml(policy(15), "BH002")
    assert small.message == "200/s x 100ms = 20 calls in flight > max_concurrent 15"
    assert small.help == "set max_concurrent: 35"
    assert (small.span.line, small.span.column) == (8, 32)
    (tight,) = lint_yaml(policy(25), "BH002")
    assert tight.message == (
        "200/s x 100ms = 20 calls in flight: with max_concurrent 25, 5.022% of healthy "
        "calls find no slot"
    )


def test_each_process_counts_for_itself() -> None:
    """Four processes have 5 calls in flight each."""
    facts = "{rate: 200/s, callers: 4, latency: {mean: 100ms}}"
    (found,) = lint_yaml(policy(4, facts), "BH002")
    assert found.message.startswith(
        "50/s x 100ms = 5 calls in flight > max_concurrent 4"
    )


@pytest.mark.parametrize("more", [", mode: disabled", ', scope: "argument:tenant"'])
def test_nothing_to_size(more: str) -> None:
    """Disabled bulkheads, and those with one set of slots for each key."""
    assert lint_yaml(policy(1, more=more), "BH002") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("blocking", "slots", "count"), [(0.5, 1, 0), (0.499, 1, 1), (0.2, 2, 0)]
)
def test_blocking_can_be_set(blocking: float, slots: int, count: int) -> None:
    """One call in flight: B(1, 1) = 1/2 and B(2, 1) = (1/2) / (2 + 1/2) = 1/5."""
    facts = "{rate: 10/s, callers: 1, latency: {mean: 100ms}}"
    settings = {"BH002": {"blocking": blocking}}
    found = lint_yaml(policy(slots, facts), "BH002", thresholds=settings)
    assert [d.severity for d in found] == [Severity.WARNING] * count
    assert [d.help for d in found] == ["set max_concurrent: 2"] * count


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("facts", "lacking"),
    [
        ("{latency: {p99: 1s}}", ["callers", "latency.mean", "rate"]),
        ("{rate: 200/s, callers: 1}", ["latency.mean"]),
        ("{rate: 200/s, latency: {mean: 1s}}", ["callers"]),
        ("{callers: 1, latency: {mean: 1s}}", ["rate"]),
    ],
)
def test_missing_facts_are_named(facts: str, lacking: list[str]) -> None:
    """The mean, the rate and the callers are needed."""
    result = run_yaml(policy(5, facts), "BH002")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        f"payment_api.operations.charge.facts.{fact}" for fact in lacking
    ]


def test_bulkhead_of_a_preset_is_shown_there() -> None:
    """An inherited bulkhead is a related place."""
    preset = "version: 1\npreset: tiny\ndefaults:\n  bulkhead: {max_concurrent: 2}\n"
    text = operation_yaml(
        "transport: http\nfacts: {rate: 200/s, callers: 1, latency: {mean: 100ms}}",
        "extends: [tiny]",
    )
    (found,) = lint_yaml(text, "BH002", files={"tiny.yaml": preset})
    assert str(found.related[0].span) == "tiny.yaml:4:30"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("queue", "message"),
    [
        ("max_wait: 0s", "with max_concurrent 4, 1.538% of healthy calls find no slot"),
        ("max_wait: 10s, max_queue: 16", None),
        ("max_wait: 10s, max_queue: 0", "1.538% of healthy calls find no slot"),
        (
            "max_wait: 1s, max_queue: 16",
            "0.4554% of healthy calls find no slot within 1s",
        ),
        (
            "max_wait: 10s, max_queue: 1",
            "0.3831% of healthy calls find no slot within 10s",
        ),
    ],
)
def test_calls_that_get_a_slot_in_time_are_not_refused(
    queue: str, message: str | None
) -> None:
    """One call in flight and 4 slots: Erlang B is 1.538 %, Erlang C 2.041 %.

    2.041 % x exp(-3 x 1 s / 2 s) = 0.4554 %; with one place to wait,
    1.538 % x 1/4 / (1 + 1.538 % x 1/4) = 0.383 %.
    """
    text = operation_yaml(
        "transport: http\nfacts: {rate: 30/m, callers: 1, latency: {mean: 2s}}\n"
        f"bulkhead: {{max_concurrent: 4, {queue}}}"
    )
    messages = [d.message for d in lint_yaml(text, "BH002")]
    assert len(messages) == (message is not None)
    if message is not None:
        assert messages[0].startswith("30/m x 2s = 1 call in flight: with")
        assert messages[0].endswith(message)


def test_the_advice_counts_waiting_calls() -> None:
    """With a wait of 1 s five slots are enough: Erlang C 0.383 % x exp(-2) = 0.052 %."""
    text = operation_yaml(
        "transport: http\nfacts: {rate: 30/m, callers: 1, latency: {mean: 2s}}\n"
        "bulkhead: {max_concurrent: 4, max_queue: 16, max_wait: 1s}"
    )
    (found,) = lint_yaml(text, "BH002")
    assert found.help == "set max_concurrent: 5"
    assert lint_yaml(text.replace("concurrent: 4", "concurrent: 5"), "BH002") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("worker", "slots", "count"),
    [
        ("upload: {operation: hub.send, batch: 10, interval: 1s}", 1, 0),
        ("consume: {operation: hub.send, concurrency: 2}", 2, 0),
        ("consume: {operation: hub.send, concurrency: 3}", 2, 1),
        ("lease: 1m", 1, 1),
    ],
)
def test_workers_of_a_queue_come_in_turn(worker: str, slots: int, count: int) -> None:
    """No more calls at once than workers, so that each finds its slot."""
    text = (
        "version: 1\nservice: hub\nowner: a\noperations:\n  send:\n"
        "    transport: http\n    facts: {rate: 30/m, callers: 1, latency: {mean: 1s}}\n"
        f"    bulkhead: {{max_concurrent: {slots}, max_queue: 0}}\n"
        f"queues:\n  out: {{store: sqlite, path: o.db, max_size: 9, {worker}}}\n"
    )
    assert len(lint_yaml(text, "BH002")) == count


def test_other_callers_beside_the_queue_come_at_random() -> None:
    """A service that calls the operation too is not in turn with the worker."""
    text = (
        "version: 1\nservice: hub\nowner: a\noperations:\n  send:\n"
        "    transport: http\n    facts: {rate: 30/m, callers: 1, latency: {mean: 1s}}\n"
        "    bulkhead: {max_concurrent: 1, max_queue: 0}\n"
        "calls: [{to: hub.send}]\n"
        "queues:\n  out: {store: sqlite, path: o.db, max_size: 9, "
        "upload: {operation: hub.send}}\n"
    )
    assert len(lint_yaml(text, "BH002")) == 1
