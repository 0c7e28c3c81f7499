"""Streams: backon #62, tenacity #63, langchain-like consumers, api-core PR 495.

Items that come twice, buffers of everything, slots that a consumer's break keeps, time
limits that count the consumer's own time.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from typing import Any

import pytest

from policyctl.runtime.budget import remaining_budget
from policyctl.runtime.errors import AttemptTimeoutError
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATIONS = """
stream:
  kind: stream
  idempotent: true
  budget: 60s
  attempt_timeout: {first_item: 30s, idle: 1s}
  retry: {max_attempts: 3, backoff: {initial: 1s, jitter: none}, retry_on: [ConnectionError]}
  bulkhead: {max_concurrent: 1, max_wait: 0s}
plain:
  kind: stream
  idempotent: true
  retry: {max_attempts: 3, backoff: {initial: 1s, jitter: none}, retry_on: [ConnectionError]}
  bulkhead: {max_concurrent: 1, max_wait: 0s}
answered:
  kind: stream
  circuit_breaker: {failure_threshold: 9, record_on: [ConnectionError]}
  fallback: {value: [8, 9]}
"""


async def collect(stream: AsyncIterator[int], into: list[int]) -> None:
    """All items, those before an error too."""
    async for item in stream:
        into.append(item)


async def test_a_stream_that_breaks_in_the_middle_is_not_begun_again(
    generated: Generated, clock: Any
) -> None:
    """One entry, the items once, the real error; a failure before them is retried."""
    entries: list[int] = []

    @generated(OPERATIONS)["stream"]
    async def read() -> AsyncIterator[int]:
        entries.append(1)
        if len(entries) == 1:
            raise ConnectionError("before")
        yield 1
        raise ConnectionError("in the middle")

    items: list[int] = []
    with pytest.raises(ConnectionError, match="in the middle"):
        await collect(read(), items)
    assert (items, len(entries)) == ([1], 2)


async def test_items_come_when_they_are_made(generated: Generated) -> None:
    """Nothing is collected first: the source is never ahead of its consumer."""
    made: list[int] = []

    @generated(OPERATIONS)["stream"]
    async def count() -> AsyncIterator[int]:
        for number in range(1000):
            made.append(number)
            yield number

    async for number in count():
        assert made[-1] == number
        if number == 10:
            break
    assert len(made) == 11


@pytest.mark.parametrize("how", ["break", "cancelled first wait", "never begun"])
async def test_no_slot_is_kept_by_streams_nobody_reads(
    how: str, generated: Generated
) -> None:
    """However a consumer leaves it."""
    policy = generated(OPERATIONS)["stream"]

    @policy
    async def read() -> AsyncIterator[int]:
        if how == "cancelled first wait":
            await asyncio.Event().wait()
        yield 1
        yield 2

    if how == "break":
        async for _ in read():
            break
    elif how == "never begun":
        read()
    else:
        first = asyncio.ensure_future(anext(aiter(read())))
        for _ in range(3):
            await asyncio.sleep(0)
        assert policy.bulkhead.in_use == 1
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        del first
    for _ in range(3):
        gc.collect()
        await asyncio.sleep(0)
    assert policy.bulkhead.in_use == 0


async def test_the_consumers_time_is_not_the_sources(
    generated: Generated, clock: Any
) -> None:
    """Two seconds for each item are too long for the source alone."""

    @generated(OPERATIONS)["stream"]
    async def read() -> AsyncIterator[int]:
        yield 1
        yield 2

    items: list[int] = []
    async for item in read():
        clock.advance(2.0)
        items.append(item)
    assert items == [1, 2]


async def test_a_source_that_falls_silent_is_closed_before_the_error(
    generated: Generated,
) -> None:
    """Its clean-up has run when the consumer learns of it."""
    policy = generated(OPERATIONS.replace("idle: 1s", "idle: 20ms"))["stream"]
    closed: list[int] = []

    @policy
    async def read() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.append(1)

    with pytest.raises(AttemptTimeoutError) as caught:
        await collect(read(), [])
    assert (caught.value.phase, closed, policy.bulkhead.in_use) == ("idle", [1], 0)


async def test_two_readers_at_once_break_nothing(generated: Generated) -> None:
    """The second gets the interpreter's own error, and the slot comes back."""
    policy = generated(OPERATIONS)["stream"]

    @policy
    async def read() -> AsyncGenerator[int, None]:
        await asyncio.sleep(0.01)
        yield 1

    stream = read()
    found = await asyncio.gather(anext(stream), anext(stream), return_exceptions=True)
    assert found[0] == 1
    assert isinstance(found[1], RuntimeError)
    await stream.aclose()
    assert policy.bulkhead.in_use == 0


async def test_the_budget_is_the_sources_alone(generated: Generated) -> None:
    """Between two items the consumer has none."""

    @generated(OPERATIONS)["stream"]
    async def read() -> AsyncIterator[float | None]:
        yield remaining_budget()
        yield remaining_budget()

    async for left in read():
        assert left is not None
        assert remaining_budget() is None


async def test_a_fallback_answers_before_the_first_item_alone(
    generated: Generated,
) -> None:
    """Afterwards its items would follow those that are there already."""

    @generated(OPERATIONS)["answered"]
    async def read(items: int) -> AsyncIterator[int]:
        for number in range(items):
            yield number
        raise ConnectionError

    assert [item async for item in read(0)] == [8, 9]
    found: list[int] = []
    with pytest.raises(ConnectionError):
        await collect(read(2), found)
    assert found == [0, 1]


def test_plain_generators_keep_their_whole_protocol(generated: Generated) -> None:
    """``send``, ``throw``, the value at the end, and a slot that a lost one gives back."""
    policy = generated(OPERATIONS)["plain"]

    @policy
    def talk() -> Generator[str, str, str]:
        said = "hello"
        while said != "end":
            try:
                said = yield said
            except KeyError:
                said = "caught"
        return "bye"

    def delegate() -> Generator[str, str, str]:
        return (yield from talk())

    stream = delegate()
    assert next(stream) == "hello"
    assert stream.send("again") == "again"
    assert stream.throw(KeyError("x")) == "caught"
    with pytest.raises(StopIteration) as caught:
        stream.send("end")
    assert caught.value.value == "bye"
    lost = talk()
    next(lost)
    assert policy.bulkhead.in_use == 1
    del lost
    gc.collect()
    assert policy.bulkhead.in_use == 0
