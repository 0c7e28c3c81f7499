"""Responses that a retry drops: pydantic-ai #2724, kiota-python #564, go-service PR 2521.

Each response that was dropped for another attempt kept its connection, until the pool was
empty and every call timed out waiting for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from threading import Event
from typing import Any

import httpx
import pytest

from policyctl.runtime import discarded
from policyctl.runtime.errors import AttemptTimeoutError
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

RETRIED = """
get:
  idempotent: true
  transport: http
  retry: {max_attempts: 3, backoff: {initial: 10ms, jitter: none}}
  fallback: {value: stale, fallback_on: [ConnectionError, Exception]}
"""
HEDGED = """
get:
  idempotent: true
  transport: http
  hedge: {delay: 10ms}
"""
LIMITED = """
get:
  idempotent: true
  transport: http
  attempt_timeout: 20ms
"""


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that nobody has read yet."""

    def __init__(self) -> None:
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield b"body"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"body"

    def close(self) -> None:
        """As a connection that goes back to its pool."""
        self.closed = True

    async def aclose(self) -> None:
        """As ``close``."""
        self.closed = True


class Server:
    """Answers with statuses in turn and keeps the bodies."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.bodies: list[Body] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(Body())
        return httpx.Response(self.statuses.pop(0), stream=self.bodies[-1])

    @property
    def closed(self) -> list[bool]:
        """Which of the bodies are closed."""
        return [body.closed for body in self.bodies]


@pytest.mark.parametrize("raises", [False, True], ids=["result", "error"])
async def test_tasks_close_what_they_drop(
    raises: bool, generated: Generated, clock: Any
) -> None:
    """Two that are retried are closed, the one that is answered is not."""
    server = Server(503, 503, 200)

    @generated(RETRIED)["get"]
    async def get(client: httpx.AsyncClient) -> httpx.Response:
        request = client.build_request("GET", "http://callee/")
        response = await client.send(request, stream=True)
        return response.raise_for_status() if raises else response

    async with httpx.AsyncClient(transport=httpx.MockTransport(server)) as client:
        response = await get(client)
        assert server.closed == [True, True, False]
        assert await response.aread() == b"body"


@pytest.mark.parametrize("raises", [False, True], ids=["result", "error"])
def test_threads_close_what_they_drop(
    raises: bool, generated: Generated, clock: Any
) -> None:
    """The same for plain functions."""
    server = Server(503, 503, 200)

    @generated(RETRIED)["get"]
    def get(client: httpx.Client) -> httpx.Response:
        request = client.build_request("GET", "http://callee/")
        response = client.send(request, stream=True)
        return response.raise_for_status() if raises else response

    with httpx.Client(transport=httpx.MockTransport(server)) as client:
        response = get(client)
        assert server.closed == [True, True, False]
        assert response.read() == b"body"


async def test_what_the_caller_gets_stays_open(
    generated: Generated, clock: Any
) -> None:
    """A result whose attempts are used up is the caller's to read and close."""
    server = Server(503, 503, 503)

    @generated(RETRIED)["get"]
    async def get(client: httpx.AsyncClient) -> httpx.Response:
        request = client.build_request("GET", "http://callee/")
        return await client.send(request, stream=True)

    async with httpx.AsyncClient(transport=httpx.MockTransport(server)) as client:
        assert (await get(client)).status_code == 503
        assert server.closed == [True, True, False]


async def test_an_error_that_a_fallback_answers_for_is_dropped(
    generated: Generated, clock: Any
) -> None:
    """The caller never sees its response."""
    server = Server(503, 503, 503)

    @generated(RETRIED)["get"]
    async def get(client: httpx.AsyncClient) -> Any:
        request = client.build_request("GET", "http://callee/")
        return (await client.send(request, stream=True)).raise_for_status()

    async with httpx.AsyncClient(transport=httpx.MockTransport(server)) as client:
        assert await get(client) == "stale"
        assert server.closed == [True, True, True]


class Connection:
    """Something with ``close`` that is no response."""

    closed = False

    def close(self) -> None:
        """Must not be called."""
        self.closed = True


async def test_what_is_no_response_is_left_alone(
    generated: Generated, clock: Any
) -> None:
    """An error may carry a connection or a file that its owner wants again."""
    connection = Connection()
    entries: list[int] = []

    class Failed(ConnectionError):
        response = connection

    @generated(RETRIED)["get"]
    async def get() -> str:
        entries.append(1)
        if len(entries) < 3:
            raise Failed
        return "done"

    assert await get() == "done"
    assert not connection.closed


class Answer:
    """A response that tells when it is closed."""

    status_code = 200

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def aclose(self) -> None:
        """As httpx names it."""
        self.closed.set()


async def test_a_hedge_that_succeeds_second_is_closed(generated: Generated) -> None:
    """Both answers come in the same instant; one goes to the caller."""
    answers: list[Answer] = []
    both = asyncio.Event()

    @generated(HEDGED)["get"]
    async def get() -> Answer:
        answers.append(answer := Answer())
        if len(answers) == 2:
            both.set()
        await both.wait()
        return answer

    found = await asyncio.wait_for(get(), 30.0)
    (loser,) = [answer for answer in answers if answer is not found]
    await asyncio.wait_for(loser.closed.wait(), 30.0)
    assert not found.closed.is_set()


def test_an_answer_that_comes_too_late_is_closed(generated: Generated) -> None:
    """The thread that was left behind closes it."""
    gate, closed = Event(), Event()

    class Late:
        status_code = 200

        def close(self) -> None:
            closed.set()

    @generated(LIMITED)["get"]
    def get() -> Late:
        gate.wait(30.0)
        return Late()

    with pytest.raises(AttemptTimeoutError):
        get()
    assert not closed.is_set()
    gate.set()
    assert closed.wait(30.0)


async def test_a_close_that_hangs_does_not_hold_the_call(
    generated: Generated, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    """Its time is bounded, and the retry follows."""
    monkeypatch.setattr(discarded, "LONGEST", 0.01)
    answers: list[int] = []

    class Stuck:
        status_code = 503

        async def aclose(self) -> None:
            """As a TLS connection whose peer is gone."""
            await asyncio.Event().wait()

    @generated(RETRIED)["get"]
    async def get() -> Any:
        answers.append(1)
        return Stuck() if len(answers) == 1 else "done"

    assert await asyncio.wait_for(get(), 30.0) == "done"
