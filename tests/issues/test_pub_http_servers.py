"""Middleware: slowapi #249, backlash PR 19, webob #74, tornado PR 824, treg PR 205.

A start of the response for each chunk, slots that a client's going away keeps, bodies that
are never closed, events that are no requests.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from policyctl.runtime import settings
from policyctl.runtime.inbound import Inbound


def inbound() -> Inbound:
    """A service with two slots and one place to wait."""
    return Inbound(
        bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=1, max_wait=60.0),
        budget=settings.InboundBudget(
            default=5.0, max=10.0, header=settings.BudgetHeader(name="X-Left", unit="s")
        ),
    )


def in_use(guard: Inbound) -> int:
    """Slots that are taken."""
    found: int = guard.statistics()["in_use"]
    return found


async def request(app: Any, **scope: Any) -> list[dict[str, Any]]:
    """What an ASGI application sends for a request."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app({"type": "http", "method": "GET", "headers": [], **scope}, receive, send)
    return sent


async def test_a_streamed_response_passes_as_it_is() -> None:
    """One start and each chunk, in a slot until the last."""
    guard = inbound()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for more in (True, True, False):
            assert in_use(guard) == 1
            await send({"type": "http.response.body", "body": b"x", "more_body": more})

    sent = await request(guard.asgi(app))
    kinds = [message["type"].rpartition(".")[2] for message in sent]
    assert kinds == ["start", "body", "body", "body"]
    assert in_use(guard) == 0


@pytest.mark.parametrize("kind", ["lifespan", "websocket", "of a later version"])
async def test_what_is_no_request_passes_untouched(kind: str) -> None:
    """Also a scope of a kind that is not known yet, without headers or method."""
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    guard = inbound()
    await guard.asgi(app)({"type": kind}, None, None)  # type: ignore[arg-type]
    assert seen == [kind]
    assert in_use(guard) == 0


async def test_clients_that_go_away_leave_no_slot_taken() -> None:
    """Three inside or waiting, all cancelled in the order that is worst."""
    guard = inbound()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(request(guard.asgi(app))) for _ in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert (in_use(guard), guard.waiting) == (2, 1)
    for task in reversed(tasks):
        task.cancel()
    await asyncio.wait(tasks)
    assert (in_use(guard), guard.waiting) == (0, 0)


def environment(**values: str) -> dict[str, Any]:
    """A WSGI environment."""
    found: dict[str, Any] = {"QUERY_STRING": "", **values}
    setup_testing_defaults(found)
    return found


def start(status: str, headers: list[Any], exc_info: Any = None) -> Any:
    """``start_response`` of a server that writes nowhere."""
    return lambda data: None


class Body:
    """A body that fails in the middle, and perhaps as it is closed."""

    def __init__(self, close_fails: bool) -> None:
        self.close_fails = close_fails
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        yield b"first"
        raise KeyError("second")

    def __len__(self) -> int:
        return 0

    def close(self) -> None:
        """As a session that goes back to its pool."""
        self.closed += 1
        if self.close_fails:
            raise KeyError("close")


@pytest.mark.parametrize("close_fails", [False, True])
def test_bodies_are_closed_and_slots_given_back(close_fails: bool) -> None:
    """By the server's call alone, with an error in the middle and one at the end."""
    guard, body = inbound(), Body(close_fails)

    def app(environ: Any, start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return body

    answer: Any = guard.wsgi(app)(environment(), start)
    steps = iter(answer)
    assert next(steps) == b"first"
    with pytest.raises(KeyError, match="second"):
        next(steps)
    assert (body.closed, in_use(guard)) == (0, 1)
    if close_fails:
        with pytest.raises(KeyError, match="close"):
            answer.close()
    else:
        answer.close()
    assert (body.closed, in_use(guard)) == (1, 0)


def test_a_body_that_nobody_reads_or_closes_keeps_no_slot() -> None:
    """As from middleware that answers in its place."""
    guard = inbound()

    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        yield b"never"

    answer = guard.wsgi(app)(environment(), start)
    assert in_use(guard) == 1
    del answer
    gc.collect()
    assert in_use(guard) == 0


@pytest.mark.parametrize(("left", "status"), [("5", "200 OK"), ("0", "504")])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_standard_librarys_validator_finds_nothing(
    left: str, status: str, method: str
) -> None:
    """Around it and inside of it, for answers of both."""
    statuses: list[str] = []

    def app(environ: Any, start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return iter([b"" if method == "HEAD" else b"body"])

    def note(status: str, headers: list[Any], exc_info: Any = None) -> Any:
        statuses.append(status)
        return start(status, headers)

    guard = inbound()
    whole: Any = validator(guard.wsgi(validator(app)))
    values = environment(HTTP_X_LEFT=left, REQUEST_METHOD=method)
    answer = whole(values, note)
    assert isinstance(b"".join(answer), bytes)
    answer.close()
    assert statuses[0].startswith(status)
    assert in_use(guard) == 0
