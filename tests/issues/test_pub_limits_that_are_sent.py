"""Limits on the wire: python-api-core #776, grpc-java #4412, requests adapters.

A timeout that had shrunk to nothing went out as 0, which receivers take for unlimited; a
repeated request carried the limit of the first; and an adapter that passed its timeout
on by position kept the long one.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal

import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPDigestAuth

from policyctl.runtime.budget import budget
from policyctl.runtime.edges.httpx import BudgetTransport
from policyctl.runtime.edges.requests import BudgetAdapter
from policyctl.runtime.errors import BudgetExhaustedError
from policyctl.runtime.settings import BudgetHeader


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_less_than_a_header_can_say_is_not_sent_as_zero(
    unit: Literal["s", "ms"], clock: Any
) -> None:
    """Half a millisecond is too little; two are sent as one or two."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["X-Left"])
        return httpx.Response(200)

    header = BudgetHeader(name="X-Left", unit=unit)
    transport = BudgetTransport(header, transport=httpx.MockTransport(answer))
    with httpx.Client(transport=transport) as client:
        with budget(0.0005), pytest.raises(BudgetExhaustedError):
            client.get("http://callee/")
        assert sent == []
        with budget(0.0025):
            client.get("http://callee/")
    assert sent == [{"s": "0.002", "ms": "2"}[unit]]


def test_a_timeout_by_position_is_shortened_too(
    monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    """As adapters that are derived from ours, or wrap it, pass it on."""
    seen: list[Any] = []

    def send(adapter: Any, request: Any, stream: bool, timeout: Any) -> Any:
        seen.append(timeout)
        return requests.Response()

    monkeypatch.setattr(HTTPAdapter, "send", send)
    request = requests.Request("GET", "http://callee/").prepare()
    with budget(1.0):
        BudgetAdapter().send(request, False, 30)
        BudgetAdapter().send(request, timeout=(0.5, 30))
    assert seen == [(1.0, 1.0), (0.5, 1.0)]


class Digest(BaseHTTPRequestHandler):
    """Asks for digest authentication once, and notes what limit came along."""

    clock: Any
    limits: list[str | None]

    def do_GET(self) -> None:
        """401 without credentials, and a second later 200 with."""
        self.limits.append(self.headers["X-Left"])
        known = "Authorization" in self.headers
        self.send_response(200 if known else 401)
        if not known:
            self.clock.advance(1.0)
            self.send_header("WWW-Authenticate", 'Digest realm="r", nonce="n"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def test_a_request_that_is_repeated_carries_what_is_left_then(clock: Any) -> None:
    """Digest authentication sends a copy of the request again, a second later."""
    limits: list[str | None] = []
    handler = type("Handler", (Digest,), {"clock": clock, "limits": limits})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        with requests.Session() as session, budget(10.0):
            session.trust_env = False
            session.mount(
                "http://", BudgetAdapter(BudgetHeader(name="X-Left", unit="ms"))
            )
            url = f"http://127.0.0.1:{server.server_address[1]}/"
            answer = session.get(url, auth=HTTPDigestAuth("ann", "secret"))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert answer.status_code == 200
    assert limits == ["10000", "9000"]
