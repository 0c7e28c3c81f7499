"""Putting, taking and acknowledging, on every back end (C31, C32)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues import Queue, Redelivery
from policyctl.testing import EventRecorder

MakeQueue = Callable[..., Queue[Any]]


def numbers(queue: Queue[Any], count: int = 100) -> list[int]:
    """The payloads of what can be taken now, which stays leased."""
    return [item.payload["n"] for item in queue.take_many(count)]


def put(queue: Queue[Any], *values: int, **more: Any) -> list[str]:
    """Put numbers; what became of them."""
    return [queue.put({"n": value, **more}).outcome for value in values]


def totals(queue: Queue[Any]) -> tuple[int, int, int]:
    """Ready, leased and dead items."""
    stats = queue.stats()
    return stats.ready, stats.leased, stats.dead


def test_first_in_first_out(make: MakeQueue) -> None:
    """Items come in the order they were put in, each to one taker."""
    queue = make()
    assert put(queue, 1, 2, 3) == ["queued"] * 3
    first, second = queue.take(), queue.take()
    assert first is not None
    assert second is not None
    assert (first.payload, second.payload) == ({"n": 1}, {"n": 2})
    assert (first.deliveries, totals(queue)) == (1, (1, 2, 0))
    assert first.ack()
    assert second.ack()
    assert numbers(queue) == [3]
    assert queue.take() is None


def test_an_empty_queue_gives_nothing(make: MakeQueue) -> None:
    """Taking from an empty queue gives None, and an empty list of many."""
    queue = make()
    assert queue.take() is None
    assert queue.take_many(5) == []
    assert queue.stats().oldest_seconds == 0.0


def test_a_wait_for_an_item_is_bounded(make: MakeQueue, backend: Any) -> None:
    """A take with a timeout gives up when it is over."""
    queue = make()
    before = backend.clock.now()
    assert queue.take(timeout=3.0) is None
    assert backend.clock.now() - before == pytest.approx(3.0)


def test_acknowledging_twice_says_that_the_lease_is_gone(make: MakeQueue) -> None:
    """Only the first ack removes something."""
    queue = make()
    put(queue, 1)
    item = queue.take()
    assert item is not None
    assert [item.ack(), item.ack(), item.nack(), item.extend(), item.release()] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert totals(queue) == (0, 0, 0)


def test_an_expired_lease_returns_the_item(make: MakeQueue, backend: Any) -> None:
    """After the lease another taker has the item, and the first can end nothing."""
    queue = make(lease=10.0)
    put(queue, 1)
    first = queue.take()
    assert first is not None
    backend.advance(9.0)
    assert queue.take() is None
    backend.advance(1.5)
    second = queue.take()
    assert second is not None
    assert (second.id, second.deliveries) == (first.id, 2)
    assert not first.ack()
    assert not first.nack()
    assert second.ack()
    assert totals(queue) == (0, 0, 0)


def test_an_extended_lease_lasts(make: MakeQueue, backend: Any) -> None:
    """Extending counts from now on."""
    queue = make(lease=10.0)
    put(queue, 1)
    item = queue.take()
    assert item is not None
    backend.advance(8.0)
    assert item.extend()
    backend.advance(8.0)
    assert queue.take() is None
    assert item.extend(100.0)
    backend.advance(90.0)
    assert queue.take() is None
    assert item.ack()


def test_a_take_may_ask_for_another_lease(make: MakeQueue, backend: Any) -> None:
    """The lease of one take can be longer than the queue's."""
    queue = make(lease=10.0)
    put(queue, 1)
    assert queue.take(lease=60.0) is not None
    backend.advance(59.0)
    assert queue.take() is None
    backend.advance(2.0)
    assert queue.take() is not None


def test_a_failed_item_comes_back_first(make: MakeQueue) -> None:
    """An item that is given back keeps its place before newer ones."""
    queue = make()
    put(queue, 1, 2)
    item = queue.take()
    assert item is not None
    assert item.nack(ValueError("no"))
    put(queue, 3)
    assert numbers(queue) == [1, 2, 3]


def test_redelivery_backs_off(make: MakeQueue, backend: Any) -> None:
    """Delays double up to their maximum; a delay of one's own is taken as it is."""
    redelivery = Redelivery(initial=5.0, multiplier=2.0, max=15.0, jitter="none")
    queue = make(redelivery=redelivery, max_deliveries=None)
    put(queue, 1)
    for delay in (5.0, 10.0, 15.0, 15.0):
        item = queue.take()
        assert item is not None
        assert item.nack()
        assert queue.stats().delayed == 1
        backend.advance(delay - 0.5)
        assert queue.take() is None
        backend.advance(0.6)
    item = queue.take()
    assert item is not None
    assert item.nack(delay=1.0)
    backend.advance(1.1)
    assert numbers(queue) == [1]


def test_jitter_is_drawn_from_the_given_generator(
    make: MakeQueue, backend: Any
) -> None:
    """Full jitter waits between nothing and the delay."""

    class Half:
        def uniform(self, a: float, b: float, /) -> float:
            return (a + b) / 2

    queue = make(redelivery=Redelivery(initial=8.0, jitter="full"), random=Half())
    put(queue, 1)
    item = queue.take()
    assert item is not None
    item.nack()
    backend.advance(3.9)
    assert queue.take() is None
    backend.advance(0.2)
    assert queue.take() is not None


def test_a_released_item_was_not_delivered(make: MakeQueue) -> None:
    """Giving back what nobody looked at costs no delivery."""
    queue = make()
    put(queue, 1, 2)
    item = queue.take()
    assert item is not None
    assert item.release()
    again = queue.take()
    assert again is not None
    assert (again.id, again.deliveries) == (item.id, 1)


def test_a_repeated_put_is_one_item(make: MakeQueue) -> None:
    """The same id makes no second item: waiting, leased, dead or just done."""
    queue = make(max_deliveries=1)
    assert queue.put({"n": 1}, id="one").outcome == "queued"
    assert queue.put({"n": 1}, id="one").outcome == "duplicate"
    item = queue.take()
    assert item is not None
    assert queue.put({"n": 1}, id="one").outcome == "duplicate"
    item.ack()
    assert queue.put({"n": 1}, id="one").outcome == "duplicate"
    queue.put({"n": 2}, id="two")
    item = queue.take()
    assert item is not None
    item.nack()
    assert queue.put({"n": 2}, id="two").outcome == "duplicate"
    assert totals(queue) == (0, 0, 1)


def test_an_id_is_free_again_after_a_while(make: MakeQueue, backend: Any) -> None:
    """Ten minutes after an item is done its id may be used for another."""
    queue = make()
    for id in ("one", "two"):
        queue.put({"n": 1}, id=id)
        item = queue.take()
        assert item is not None
        item.ack()
        backend.advance(601.0)
    assert queue.put({"n": 1}, id="one").outcome == "queued"


def test_put_many_is_whole(make: MakeQueue) -> None:
    """Several items are put in their order, all or none."""
    queue = make(max_size=5)
    done = queue.put_many([{"n": n} for n in range(3)], ids=["a", "b", "c"])
    assert [(one.id, one.outcome) for one in done] == [
        ("a", "queued"),
        ("b", "queued"),
        ("c", "queued"),
    ]
    with pytest.raises(QueueFullError, match="queue full: 5 of at most 5 items"):
        queue.put_many([{"n": n} for n in range(3, 6)])
    assert queue.put_many([]) == []
    assert numbers(queue) == [0, 1, 2]


@pytest.mark.parametrize("ids", [["a"], ["a", "a"], ["", "b"], ["x" * 201, "b"]])
def test_ids_that_do_not_fit(make: MakeQueue, ids: list[str]) -> None:
    """Ids are one for each item, all different, not empty and not too long."""
    queue = make()
    with pytest.raises(ValueError, match="id"):
        queue.put_many([{}, {}], ids=ids)
    assert totals(queue) == (0, 0, 0)


def test_reject_leaves_the_item_with_the_caller(make: MakeQueue) -> None:
    """A full queue refuses; leased items count, and an ack makes room."""
    queue = make(max_size=2)
    put(queue, 1, 2)
    item = queue.take()
    assert item is not None
    with pytest.raises(QueueFullError) as caught:
        put(queue, 3)
    error = caught.value
    assert (error.size, error.max_size, error.unit) == (2, 2, "items")
    assert error.service == "tests"
    item.ack()
    assert put(queue, 3) == ["queued"]


def test_size_in_bytes(make: MakeQueue) -> None:
    """The payloads together stay below max_bytes."""
    queue = make(max_bytes=30)
    put(queue, 100, 200, 300)  # {"n":100} has 9 bytes
    assert queue.stats().bytes == 27
    with pytest.raises(QueueFullError, match="queue full: 27 of at most 30 bytes"):
        put(queue, 400)
    item = queue.take()
    assert item is not None
    item.ack()
    assert queue.stats().bytes == 18
    assert put(queue, 400) == ["queued"]


def test_overflow_into_the_dead_letters(make: MakeQueue) -> None:
    """What does not fit is a dead letter; when these are full too, put refuses."""
    queue = make(max_size=1, overflow="dead_letter", dead_letter=dead_letters(2))
    assert put(queue, 1, 2, 3) == ["queued", "dead_letter", "dead_letter"]
    with pytest.raises(QueueFullError, match="queue full: 2 of at most 2 dead letters"):
        put(queue, 4)
    assert totals(queue) == (1, 0, 2)
    found = queue.dead_letters()
    assert [(one.payload, one.reason, one.deliveries) for one in found] == [
        ({"n": 2}, "queue_full", 0),
        ({"n": 3}, "queue_full", 0),
    ]


def test_all_dead_letters_are_read_in_parts(
    make: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five of them in parts of two come once each, oldest first; none gives none."""
    monkeypatch.setattr("policyctl.runtime.queues.dead_letters.PART", 2)
    queue = make(max_size=1, overflow="dead_letter", dead_letter=dead_letters(9))
    assert list(queue.all_dead_letters()) == []
    put(queue, 1, 2, 3, 4, 5, 6)
    found = [letter.payload for letter in queue.all_dead_letters()]
    assert found == [{"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}, {"n": 6}]


def dead_letters(max_size: int) -> Any:
    """A dead letter block."""
    from policyctl.runtime.queues import DeadLetter

    return DeadLetter(max_size=max_size)


def test_drop_oldest(make: MakeQueue, events: EventRecorder) -> None:
    """The oldest item that nobody works on makes room, and is counted."""
    queue = make(max_size=3, overflow="drop_oldest")
    ids = [queue.put({"n": n}).id for n in (1, 2, 3)]
    assert queue.take() is not None
    put(queue, 4)
    assert queue.stats().dropped == 1
    dropped = events.of("dropped")
    assert [event.data for event in dropped] == [{"id": ids[1], "reason": "overflow"}]
    assert numbers(queue) == [3, 4]


def test_drop_oldest_spares_what_is_leased(make: MakeQueue) -> None:
    """When everything is leased there is nothing to drop, so put refuses."""
    queue = make(max_size=2, overflow="drop_oldest")
    put(queue, 1, 2)
    assert numbers(queue) == [1, 2]
    with pytest.raises(QueueFullError):
        put(queue, 3)


def test_drop_oldest_drops_nothing_for_what_never_fits(make: MakeQueue) -> None:
    """An item over max_bytes is refused at once."""
    queue = make(max_bytes=20, overflow="drop_oldest")
    put(queue, 1)
    with pytest.raises(QueueFullError):
        queue.put({"text": "x" * 30})
    assert numbers(queue) == [1]


def test_a_lowered_limit_lets_the_queue_drain(make: MakeQueue, backend: Any) -> None:
    """What is over a lowered limit stays and drains, and nothing is put meanwhile."""
    queue = make(max_size=5)
    put(queue, 1, 2, 3, 4, 5)
    queue = backend.again(queue, max_size=2)
    with pytest.raises(QueueFullError, match="queue full: 5 of at most 2 items"):
        put(queue, 6)
    for item in queue.take_many(4):
        item.ack()
    assert put(queue, 6) == ["queued"]
    assert numbers(queue) == [5, 6]


def test_crossing_the_warning_level_tells_once_each_way(
    make: MakeQueue, events: EventRecorder
) -> None:
    """One event on reaching warn_at, one on falling below it."""
    queue = make(max_size=10, warn_at=0.7)
    put(queue, *range(6))
    assert events.of("queue_level") == []
    put(queue, 6, 7)
    queue.take_many(2)
    put(queue, 8)
    for item in queue.take_many(3):
        item.ack()
    levels = [event.data for event in events.of("queue_level")]
    assert levels == [
        {"above": True, "size": 7, "max_size": 10},
        {"above": False, "size": 6, "max_size": 10},
    ]


def test_deliveries_are_counted_when_an_item_is_taken(
    make: MakeQueue, backend: Any, events: EventRecorder
) -> None:
    """An item that nobody ends becomes a dead letter unseen by another handler."""
    queue = make(max_deliveries=3, lease=10.0)
    name = queue.put({"n": 1}).id
    for delivery in (1, 2, 3):
        item = queue.take()
        assert item is not None
        assert item.deliveries == delivery
        backend.advance(11.0)
    assert queue.take() is None
    dead = queue.dead_letter(name)
    assert dead is not None
    assert (dead.reason, dead.deliveries) == ("max_deliveries", 3)
    assert dead.error == "its lease expired"
    assert [event.data for event in events.of("dead_lettered")] == [
        {"id": name, "reason": "max_deliveries"}
    ]


def test_a_failing_item_becomes_a_dead_letter_at_its_last_delivery(
    make: MakeQueue,
) -> None:
    """The last nack moves the item at once, with the error's text."""
    queue = make(max_deliveries=2)
    put(queue, 1, 2)
    for _ in range(2):
        item = queue.take()
        assert item is not None
        item.nack(ValueError("bad number"))
    (dead,) = queue.dead_letters()
    assert (dead.payload, dead.error) == ({"n": 1}, "ValueError: bad number")
    assert numbers(queue) == [2]


def test_without_a_bound_items_come_back_for_ever(make: MakeQueue) -> None:
    """max_deliveries off never makes a dead letter of a failing item."""
    queue = make(max_deliveries=None)
    put(queue, 1)
    for delivery in range(1, 30):
        item = queue.take()
        assert item is not None
        assert item.deliveries == delivery
        item.nack("again")
    assert totals(queue) == (1, 0, 0)


def test_old_items_become_dead_letters(make: MakeQueue, backend: Any) -> None:
    """An item over max_age is not delivered any more."""
    queue = make(max_age=60.0)
    put(queue, 1)
    backend.advance(40.0)
    put(queue, 2)
    backend.advance(21.0)
    assert queue.stats().oldest_seconds == pytest.approx(61.0, abs=0.5)
    assert numbers(queue) == [2]
    assert [dead.reason for dead in queue.dead_letters()] == ["max_age"]


def test_old_items_make_room(make: MakeQueue, backend: Any) -> None:
    """A queue that is full of items over max_age takes new ones."""
    queue = make(max_size=2, max_age=60.0)
    put(queue, 1, 2)
    backend.advance(61.0)
    assert put(queue, 3) == ["queued"]
    assert totals(queue) == (1, 0, 2)


def test_without_dead_letters_what_cannot_be_delivered_is_dropped_and_counted(
    make: MakeQueue, events: EventRecorder
) -> None:
    """dead_letter off loses such items, and says so for each."""
    queue = make(dead_letter=None, max_deliveries=1)
    name = queue.put({"n": 1}).id
    item = queue.take()
    assert item is not None
    item.nack("no")
    assert queue.stats().dropped == 1
    assert totals(queue) == (0, 0, 0)
    assert [event.data for event in events.of("dropped")] == [
        {"id": name, "reason": "max_deliveries"}
    ]


def test_full_dead_letters_keep_an_item_in_the_queue_undelivered(
    make: MakeQueue, backend: Any, events: EventRecorder
) -> None:
    """Nothing is lost and no handler sees it again; it moves once there is room."""
    queue = make(dead_letter=dead_letters(1), max_deliveries=1)
    put(queue, 1, 2)
    for _ in range(2):
        item = queue.take()
        assert item is not None
        item.nack("no")
    assert totals(queue) == (1, 0, 1)
    assert len(events.of("dead_letters_full")) == 1
    backend.advance(61.0)
    assert queue.take() is None
    assert totals(queue) == (1, 0, 1)
    assert queue.purge() == 1
    backend.advance(61.0)
    assert queue.take() is None
    assert [dead.payload for dead in queue.dead_letters()] == [{"n": 2}]
    assert totals(queue) == (0, 0, 1)


def test_with_acknowledges_or_gives_back(make: MakeQueue) -> None:
    """The end of the block decides what becomes of the item."""
    queue = make()
    put(queue, 1, 2)
    item = queue.take()
    assert item is not None
    with item as payload:
        assert payload == {"n": 1}
    item = queue.take()
    assert item is not None
    with pytest.raises(ValueError, match="no"), item:
        raise ValueError("no")
    assert totals(queue) == (1, 0, 0)
    again = queue.take()
    assert again is not None
    with pytest.raises(KeyboardInterrupt), again:
        raise KeyboardInterrupt
    last = queue.take()
    assert last is not None
    assert last.deliveries == 2


def test_peek_leases_nothing(make: MakeQueue) -> None:
    """The store shows what is ready without taking it."""
    queue = make()
    put(queue, 1, 2, 3)
    queue.take()
    assert [taken.body for taken in queue.store.peek(5)] == [b'{"n":2}', b'{"n":3}']
    assert numbers(queue) == [2, 3]


async def test_async_forms_do_the_same(make: MakeQueue) -> None:
    """Every operation has a form to await."""
    queue = make(max_deliveries=2)
    done = await queue.aput_many([{"n": n} for n in range(4)])
    assert [one.outcome for one in done] == ["queued"] * 4
    assert (await queue.aput({"n": 4}, id="x")).outcome == "queued"
    item = await queue.atake()
    assert item is not None
    async with item as payload:
        assert payload == {"n": 0}
    one, two, three, four = await queue.atake_many(9, timeout=1.0)
    assert await one.aextend(5.0)
    assert await one.aack()
    assert await two.arelease()
    assert await three.anack("no")
    again = await queue.atake_many(9)
    assert [item.payload["n"] for item in again] == [2, 3]
    for item in again:
        await item.anack("no")
    found = await queue.adead_letters()
    assert [dead.payload for dead in found] == [{"n": 3}]
    assert (await queue.adead_letter(found[0].id)) is not None
    assert await queue.aredrive() == 1
    assert await queue.apurge() == 0
    assert (await queue.astats()).dead == 0
    assert await asyncio.wait_for(four.aack(), 5) is not False


async def test_an_async_wait_is_bounded(make: MakeQueue, backend: Any) -> None:
    """atake gives up after its timeout and lets others run meanwhile."""
    queue = make()
    before = backend.clock.now()
    assert await queue.atake(timeout=2.0) is None
    assert backend.clock.now() - before == pytest.approx(2.0)


async def test_async_with_gives_back(make: MakeQueue) -> None:
    """An exception in the block gives the item back."""
    queue = make()
    await queue.aput({"n": 1})
    item = await queue.atake()
    assert item is not None
    with pytest.raises(ValueError, match="no"):
        async with item:
            raise ValueError("no")
    assert totals(queue) == (1, 0, 0)
