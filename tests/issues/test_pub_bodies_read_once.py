"""Arguments that can be read only once: OpenSandbox PR 1372, NeMo-Agent-Toolkit #2223.

The first attempt used up an iterator of chunks; the retry sent the rest of it, or an empty
body, and that succeeded. The error was gone and the data too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import pytest

from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]
Settle = Callable[[Awaitable[Any]], Awaitable[Any]]

RETRIED = """
send:
  idempotent: true
  retry: {max_attempts: 3, backoff: {initial: 1s, jitter: none}, retry_on: [ConnectionError]}
read:
  kind: stream
  idempotent: true
  retry: {max_attempts: 3, backoff: {initial: 1s, jitter: none}, retry_on: [ConnectionError]}
hedged:
  idempotent: true
  transport: http
  hedge: {delay: 5ms}
"""


def chunks() -> Iterator[int]:
    """A body in chunks."""
    yield from (1, 2, 3)


async def chunks_in_task() -> AsyncIterator[int]:
    """The same, asynchronously."""
    for chunk in (1, 2, 3):
        await asyncio.sleep(0)
        yield chunk


@pytest.mark.parametrize("reads", [1, 3], ids=["partly", "wholly"])
async def test_a_body_that_was_begun_is_not_sent_again(
    reads: int, generated: Generated, form: Any, settle: Settle, clock: Any
) -> None:
    """The real error comes out at once, with the reason."""
    entries: list[int] = []

    def send(body: Iterator[int]) -> None:
        entries.append(1)
        for _ in range(reads):
            next(body)
        if reads == 3:
            assert next(body, None) is None
        raise ConnectionError("reset")

    error = await settle(form.guard(generated(RETRIED)["send"], send)(chunks()))
    assert isinstance(error, ConnectionError)
    assert entries == [1]
    assert "an argument can be read only once" in error.__notes__[0]


async def test_a_body_that_was_not_begun_is_sent_again(
    generated: Generated, form: Any, clock: Any
) -> None:
    """No connection, no chunk read: the retry has all of it."""
    entries: list[int] = []

    def send(body: Iterator[int]) -> list[int]:
        entries.append(1)
        if len(entries) < 3:
            raise ConnectionRefusedError
        return list(body)

    assert await form.guard(generated(RETRIED)["send"], send)(chunks()) == [1, 2, 3]
    assert len(entries) == 3


@pytest.mark.parametrize("begun", [True, False])
async def test_async_bodies_and_keywords(
    begun: bool, generated: Generated, settle: Settle, clock: Any
) -> None:
    """The same for async generators."""
    entries: list[int] = []

    @generated(RETRIED)["send"]
    async def send(*, body: AsyncIterator[int]) -> list[int]:
        entries.append(1)
        first = [await anext(body)] if begun else []
        if len(entries) == 1:
            raise ConnectionError
        return first + [chunk async for chunk in body]

    found = await settle(send(body=chunks_in_task()))
    if begun:
        assert isinstance(found, ConnectionError)
    else:
        assert found == [1, 2, 3]


async def test_a_coroutine_that_was_awaited_is_not_awaited_again(
    generated: Generated, settle: Settle, clock: Any
) -> None:
    """Its own error comes out, not that it cannot be awaited twice."""

    async def work() -> None:
        raise ConnectionError("its own")

    @generated(RETRIED)["send"]
    async def send(work: Awaitable[None]) -> None:
        await work

    error = await settle(send(work()))
    assert str(error) == "its own"


async def test_streams_do_not_end_empty_for_it(
    generated: Generated, clock: Any
) -> None:
    """A stream over a used-up source would end without an item and without an error."""

    @generated(RETRIED)["read"]
    async def read(source: AsyncIterator[int]) -> AsyncIterator[int]:
        found = [chunk async for chunk in source]
        if len(found) == 3:
            raise ConnectionError
        for chunk in found:
            yield chunk

    with pytest.raises(ConnectionError):
        async for _ in read(chunks_in_task()):
            pass


async def test_hedges_do_not_share_a_body(generated: Generated) -> None:
    """However slow, there is one attempt, and it gets every chunk."""
    entries: list[int] = []

    @generated(RETRIED)["hedged"]
    async def send(body: AsyncIterator[int]) -> list[int]:
        entries.append(1)
        found: list[int] = []
        async for chunk in body:
            await asyncio.sleep(0.01)
            found.append(chunk)
        return found

    assert await send(chunks_in_task()) == [1, 2, 3]
    assert entries == [1]
