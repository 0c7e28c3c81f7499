"""Pools of one connection: pydantic-ai #2724, httpx #1461, against a real server.

Every attempt but the last leaves a long body unread; the next needs its connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter

from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATION = """
get:
  idempotent: true
  transport: http
  retry: {max_attempts: 3, backoff: {initial: 1ms, jitter: none}}
"""


class Busy(BaseHTTPRequestHandler):
    """Two of three answers are 503, each with a body that is no use to anybody."""

    protocol_version = "HTTP/1.1"
    answers: list[int]

    def do_GET(self) -> None:
        """The next answer."""
        self.answers.append(503 if len(self.answers) % 3 < 2 else 200)
        self.send_response(self.answers[-1])
        self.send_header("Content-Length", "100000")
        self.end_headers()
        try:
            self.wfile.write(b"x" * 100000)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    """Says nothing of connections that its clients break off."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a busy server."""
    server = Server(("127.0.0.1", 0), type("Handler", (Busy,), {"answers": []}))
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


ONE = httpx.Limits(max_connections=1)
PATIENCE = httpx.Timeout(60.0, pool=10.0)


async def test_httpx_in_tasks(url: str, generated: Generated) -> None:
    """No attempt waits for a connection that nobody will give back."""
    async with httpx.AsyncClient(
        limits=ONE, timeout=PATIENCE, trust_env=False
    ) as client:

        @generated(OPERATION)["get"]
        async def get() -> httpx.Response:
            return await client.send(client.build_request("GET", url), stream=True)

        response = await get()
        assert response.status_code == 200
        assert len(await response.aread()) == 100000


def test_httpx_in_threads(url: str, generated: Generated) -> None:
    """The same for its sync client."""
    with httpx.Client(limits=ONE, timeout=PATIENCE, trust_env=False) as client:

        @generated(OPERATION)["get"]
        def get() -> httpx.Response:
            return client.send(client.build_request("GET", url), stream=True)

        response = get()
        assert response.status_code == 200
        assert len(response.read()) == 100000


async def test_aiohttp(url: str, generated: Generated) -> None:
    """The same for aiohttp, whose response has one way to close."""
    connector = aiohttp.TCPConnector(limit=1)
    limit = aiohttp.ClientTimeout(total=30.0)
    async with aiohttp.ClientSession(connector=connector, timeout=limit) as session:

        @generated(OPERATION)["get"]
        async def get() -> aiohttp.ClientResponse:
            return await session.get(url)

        response = await get()
        assert response.status == 200
        assert len(await response.read()) == 100000


def test_requests(url: str, generated: Generated) -> None:
    """The same for requests, whose pool blocks for ever when it is empty."""
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", HTTPAdapter(pool_maxsize=1, pool_block=True))

        @generated(OPERATION)["get"]
        def get() -> requests.Response:
            return session.get(url, stream=True, timeout=60.0)

        response = get()
        assert response.status_code == 200
        assert len(response.content) == 100000


def test_an_error_that_comes_out_still_has_its_body(
    url: str, generated: Generated
) -> None:
    """What was read before the error was raised can be read by whoever catches it."""
    with requests.Session() as session:
        session.trust_env = False

        @generated(OPERATION)["get"]
        def get(attempts: list[int]) -> None:
            attempts.append(1)
            if len(attempts) == 3:
                session.get(url).raise_for_status()  # the third answer is 200
                session.get(url).raise_for_status()
            session.get(url).raise_for_status()

        with pytest.raises(requests.HTTPError) as caught:
            get([])
        assert len(caught.value.response.content) == 100000
