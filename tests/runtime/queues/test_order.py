"""First in, first out for each value of ``order_by``, on every back end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.runtime.queues import Queue

MakeQueue = Callable[..., Queue[Any]]


def fill(queue: Queue[Any], *keys: str) -> None:
    """Put items with these keys, numbered from 1."""
    queue.put_many([{"key": key, "n": n} for n, key in enumerate(keys, 1)])


def take(queue: Queue[Any], count: int = 1) -> list[Any]:
    """Items that can be had now."""
    return queue.take_many(count)


def shown(items: list[Any]) -> list[int]:
    """Their numbers."""
    return [item.payload["n"] for item in items]


def test_a_key_has_one_item_out_at_a_time(make: MakeQueue) -> None:
    """While the first of a key is leased, the next of that key waits, others do not."""
    queue = make(order_by="key")
    fill(queue, "a", "a", "b")
    (first,) = take(queue)
    (other,) = take(queue)
    assert (shown([first]), shown([other])) == ([1], [3])
    assert take(queue) == []
    first.ack()
    assert shown(take(queue)) == [2]


def test_nothing_overtakes_a_failed_item(make: MakeQueue, backend: Any) -> None:
    """A delayed item holds up its key alone."""
    queue = make(order_by="key")
    fill(queue, "a", "a", "b")
    (first,) = take(queue)
    first.nack(delay=10.0)
    assert shown(take(queue)) == [3]
    assert take(queue) == []
    backend.advance(10.1)
    (again,) = take(queue)
    assert shown([again]) == [1]
    again.ack()
    assert shown(take(queue)) == [2]


def test_a_batch_takes_a_run_of_a_key_in_order(make: MakeQueue) -> None:
    """One taker may have several of a key, in their order; nobody else has any."""
    queue = make(order_by="key")
    fill(queue, "a", "a", "b", "a")
    items = take(queue, 10)
    assert sorted(shown(items)) == [1, 2, 3, 4]
    assert [n for n in shown(items) if n != 3] == [1, 2, 4]
    assert take(queue, 10) == []


def test_a_run_that_comes_back_keeps_its_order(make: MakeQueue, backend: Any) -> None:
    """After the second of three failed, the third waits for it even if given back."""
    queue = make(order_by="key")
    fill(queue, "a", "a", "a")
    one, two, three = take(queue, 3)
    one.ack()
    three.release()
    two.nack(delay=5.0)
    assert take(queue, 3) == []
    backend.advance(5.1)
    assert shown(take(queue, 3)) == [2, 3]


def test_expired_runs_come_back_in_order(make: MakeQueue, backend: Any) -> None:
    """A taker that died with a run in its hands changes no order."""
    queue = make(order_by="key", lease=10.0)
    fill(queue, "a", "b", "a", "a")
    take(queue, 3)
    backend.advance(10.1)
    items = take(queue)
    items += take(queue)
    assert shown(items) == [1, 2]
    assert take(queue) == []
    for item in items:
        item.ack()
    assert shown(take(queue, 5)) == [3, 4]


def test_a_dead_letter_frees_its_key(make: MakeQueue) -> None:
    """A poisoned first item does not hold up its key for ever."""
    queue = make(order_by="key", max_deliveries=1)
    fill(queue, "a", "a")
    (first,) = take(queue)
    first.nack("no")
    assert shown(take(queue)) == [2]


def test_a_dropped_item_frees_its_key(make: MakeQueue) -> None:
    """Dropping the first of a key lets the next go."""
    queue = make(order_by="key", max_size=2, overflow="drop_oldest")
    fill(queue, "a", "a")
    queue.put({"key": "a", "n": 3})
    assert shown(take(queue, 5)) == [2, 3]


def test_a_redriven_item_goes_behind(make: MakeQueue) -> None:
    """A dead letter that is put back is the last of its key."""
    queue = make(order_by="key", max_deliveries=1)
    fill(queue, "a", "a")
    (first,) = take(queue)
    first.nack("no")
    assert queue.redrive() == 1
    assert shown(take(queue, 5)) == [2, 1]


@pytest.mark.parametrize(
    ("one", "two"), [(1, "1"), (None, "null"), ("a", "b"), (True, 1)]
)
def test_values_of_different_kinds_are_different_keys(
    make: MakeQueue, one: Any, two: Any
) -> None:
    """The number 1 and the text "1" do not wait for each other."""
    queue = make(order_by="key")
    queue.put_many([{"key": one, "n": 1}, {"key": two, "n": 2}])
    assert shown(take(queue) + take(queue)) == [1, 2]


def test_an_item_without_the_field_is_refused(make: MakeQueue) -> None:
    """What has no value to order by is not put."""
    queue = make(order_by="agent.id")
    queue.put({"agent": {"id": 1}})
    with pytest.raises(ValueError, match=r"no agent\.id"):
        queue.put({"agent": {}})
    assert queue.stats().size == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "take", "ack", "nack", "release", "wait"]),
        st.integers(0, 3),
    ),
    max_size=40,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, ordered=st.booleans())
def test_any_history_keeps_order_and_loses_nothing(
    make: MakeQueue, backend: Any, steps: list[tuple[str, int]], ordered: bool
) -> None:
    """Whatever happens, put = acked + dead + there, and no key overtakes itself."""
    queue = make(order_by="key" if ordered else None, lease=10.0, max_deliveries=3)
    held: list[Any] = []
    counts = {"put": 0, "acked": 0}
    gone: dict[int, int] = {}
    for step, number in steps:
        if step == "put":
            counts["put"] += 1
            queue.put({"key": number % 2, "n": counts["put"]})
        elif step == "take":
            held += queue.take_many(number)
        elif step == "wait":
            backend.advance(4.0 * number)
        elif held:
            item = held.pop(number % len(held))
            if step == "ack":
                done = item.ack()
                counts["acked"] += done
                if done:
                    gone[item.payload["n"]] = item.payload["key"]
            elif step == "nack":
                item.nack("no", delay=float(number))
            else:
                item.release()
        stats = queue.stats()
        assert counts["put"] == counts["acked"] + stats.size + stats.dead
        assert stats.size == stats.ready + stats.leased
    backend.advance(100.0)
    drain(queue, ordered)


def drain(queue: Queue[Any], ordered: bool) -> None:
    """Take everything that is left, one by one; each key has to come in order."""
    last = {0: 0, 1: 0}
    while (item := queue.take()) is not None:
        if ordered:
            assert item.payload["n"] > last[item.payload["key"]]
            last[item.payload["key"]] = item.payload["n"]
        assert item.ack()
    stats = queue.stats()
    assert (stats.size, stats.bytes) == (0, 0)
