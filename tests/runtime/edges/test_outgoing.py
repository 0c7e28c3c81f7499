"""The budget and the idempotency key on the way out, with real clients on loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.conditions import conditions_of
from policyctl.runtime.edges.httpx import AsyncBudgetTransport, BudgetTransport
from policyctl.runtime.edges.outgoing import Outgoing
from policyctl.runtime.errors import BudgetExhaustedError
from policyctl.runtime.idempotency.forwarding import FORWARDED
from policyctl.runtime.policy import Policy

HEADER = settings.BudgetHeader(name="X-Timeout-Budget")
Client = Callable[..., dict[str, str]]


class Handler(BaseHTTPRequestHandler):
    """Keeps the headers of each request; /hang answers late."""

    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        """Answer 200."""
        self.seen.append({k.lower(): v for k, v in self.headers.items()})
        if self.path == "/hang":
            time.sleep(1.0)
        if self.path == "/moved":
            time.sleep(0.1)
            self.send_response(307)
            self.send_header("Location", "/")
        else:
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """The same, of a request with a body."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a server on loopback and the headers that it saw."""
    for slow_to_import in ("requests", "aiohttp"):  # not within the budget of a test
        with suppress(ImportError):
            import_module(slow_to_import)
    handler = type("Noting", (Handler,), {"seen": []})
    found = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}", handler.seen  # type: ignore[attr-defined]
    found.shutdown()
    thread.join()
    found.server_close()


def with_httpx(url: str, headers: dict[str, str], **options: Any) -> None:
    """A request of httpx.Client."""
    transport = BudgetTransport(HEADER, **options)
    with httpx.Client(transport=transport, follow_redirects=True) as client:
        client.get(url, headers=headers)


def with_httpx_async(url: str, headers: dict[str, str], **options: Any) -> None:
    """A request of httpx.AsyncClient."""

    async def run() -> None:
        transport = AsyncBudgetTransport(HEADER, **options)
        async with httpx.AsyncClient(
            transport=transport, follow_redirects=True
        ) as client:
            await client.get(url, headers=headers)

    asyncio.run(run())


def with_requests(url: str, headers: dict[str, str], **options: Any) -> None:
    """A request of a requests session."""
    requests = pytest.importorskip("requests")
    from policyctl.runtime.edges.requests import BudgetAdapter

    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", BudgetAdapter(HEADER, **options))
        session.get(url, headers=headers)


def with_aiohttp(url: str, headers: dict[str, str], **options: Any) -> None:
    """A request of an aiohttp session."""
    aiohttp = pytest.importorskip("aiohttp")
    from policyctl.runtime.edges.aiohttp import budget_trace

    async def run() -> None:
        traces = [budget_trace(HEADER, **options)]
        async with aiohttp.ClientSession(trace_configs=traces) as session:
            async with session.get(url, headers=headers):
                pass

    asyncio.run(run())


CLIENTS = [with_httpx, with_httpx_async, with_requests, with_aiohttp]


@pytest.mark.timing
@pytest.mark.parametrize("client", CLIENTS)
def test_the_callee_gets_what_remains_minus_the_reserve(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """In seconds with three decimals, a little less than 5 minus 0.5."""
    url, seen = server
    with budget(5.0):
        client(url, {}, reserve=0.5)
    assert 3.5 < float(seen[0]["x-timeout-budget"]) <= 4.5


@pytest.mark.timing
@pytest.mark.parametrize("client", CLIENTS)
def test_a_redirected_request_carries_what_is_left_then(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """The first answer took 0.1 s, which the second callee does not have any more."""
    url, seen = server
    with budget(5.0):
        client(url + "/moved", {})
        client(url + "/moved", {HEADER.name: "9"})
    first, second, *given = (float(h[HEADER.name.lower()]) for h in seen)
    assert second <= first - 0.1
    assert given == [9.0, 9.0]


@pytest.mark.timing
def test_a_request_that_is_sent_again_is_as_its_owner_made_it(
    server: tuple[str, list[dict[str, str]]],
) -> None:
    """Neither the header nor the shorter timeouts of one attempt stay on it."""
    url, seen = server
    with httpx.Client(transport=BudgetTransport(HEADER)) as client:
        request = client.build_request("POST", url, content=b"x", timeout=60)
        before = dict(request.headers), dict(request.extensions["timeout"])
        for total in (5.0, 3.0):
            with budget(total):
                client.send(request)
        assert (dict(request.headers), request.extensions["timeout"]) == before
    sent = [float(headers[HEADER.name.lower()]) for headers in seen]
    assert 4 < sent[0] <= 5
    assert 2 < sent[1] <= 3


@pytest.mark.parametrize("client", CLIENTS)
def test_without_a_scope_nothing_is_sent(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """No limit means no header, not a large number."""
    url, seen = server
    client(url, {})
    assert "x-timeout-budget" not in seen[0]


@pytest.mark.parametrize("client", CLIENTS)
def test_headers_of_the_request_are_left_alone(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """What the caller sets itself wins, in any case of letters."""
    url, seen = server
    token = FORWARDED.set(("Idempotency-Key", "ours"))
    try:
        with budget(5.0):
            client(url, {"x-timeout-budget": "1", "IDEMPOTENCY-KEY": "mine"})
    finally:
        FORWARDED.reset(token)
    assert seen[0]["x-timeout-budget"] == "1"
    assert seen[0]["idempotency-key"] == "mine"


@pytest.mark.parametrize("client", CLIENTS)
def test_the_idempotency_key_goes_along(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """A call in progress with forward: {header: …} sends its key."""
    url, seen = server
    token = FORWARDED.set(("Idempotency-Key", "order-17"))
    try:
        client(url, {})
    finally:
        FORWARDED.reset(token)
    assert seen[0]["idempotency-key"] == "order-17"


@pytest.mark.timing
@pytest.mark.parametrize("client", CLIENTS)
def test_a_request_that_would_come_too_late_is_not_sent(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """With nothing left after the reserve the error says so."""
    url, seen = server
    with budget(0.2), pytest.raises(BudgetExhaustedError) as caught:
        client(url, {}, reserve=0.5)
    assert caught.value.minimum == 0.5
    assert seen == []


@pytest.mark.timing
@pytest.mark.parametrize("client", [with_httpx, with_httpx_async, with_requests])
def test_the_clients_timeout_is_shortened_to_the_budget(
    server: tuple[str, list[dict[str, str]]], client: Callable[..., None]
) -> None:
    """A sync client stops by itself when the budget ends, long before its default."""
    url, _ = server
    start = time.monotonic()
    with (
        budget(0.4),
        pytest.raises(
            OSError if client is with_requests else httpx.HTTPError
        ) as caught,
    ):
        client(f"{url}/hang", {})
    assert conditions_of(caught.value, "http") == {"timeout"}
    assert time.monotonic() - start < 0.9


@pytest.mark.timing
@pytest.mark.parametrize("timeout", [(5, 5), 5, None])
def test_every_form_of_requests_timeouts_is_shortened(
    server: tuple[str, list[dict[str, str]]], timeout: Any
) -> None:
    """One number, a pair, or nothing."""
    requests = pytest.importorskip("requests")
    from policyctl.runtime.edges.requests import BudgetAdapter

    url, _ = server
    policy = Policy(budget=settings.Budget(total=5.0, header=HEADER))
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", BudgetAdapter.of(policy))
        with budget(0.1), pytest.raises(requests.exceptions.Timeout):
            session.get(f"{url}/hang", timeout=timeout)


@pytest.mark.timing
def test_a_timeout_object_of_urllib3_is_left_alone(
    server: tuple[str, list[dict[str, str]]],
) -> None:
    """Who goes that deep knows best."""
    requests = pytest.importorskip("requests")
    import urllib3

    from policyctl.runtime.edges.requests import BudgetAdapter

    url, seen = server
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", BudgetAdapter(HEADER))
        with budget(0.2):
            session.get(url, timeout=urllib3.Timeout(total=5))
    assert len(seen) == 1


async def test_aiohttp_takes_over_the_settings_of_an_operation(
    server: tuple[str, list[dict[str, str]]],
) -> None:
    """budget_trace_of() reads header and reserve."""
    aiohttp = pytest.importorskip("aiohttp")
    from policyctl.runtime.edges.aiohttp import budget_trace_of

    url, seen = server
    policy = Policy(
        budget=settings.Budget(
            total=15.0,
            reserve=0.5,
            header=settings.BudgetHeader(name="X-Left", unit="ms"),
        )
    )
    with budget(1.0):
        traces = [budget_trace_of(policy)]
        async with aiohttp.ClientSession(trace_configs=traces) as session:
            async with session.get(url) as response:
                assert response.status == 200
    assert 300 < int(seen[0]["x-left"]) <= 500


def test_settings_of_an_operation_are_taken_over() -> None:
    """Header, unit and reserve come from its budget block."""
    policy = Policy(
        budget=settings.Budget(
            total=15.0,
            reserve=0.2,
            header=settings.BudgetHeader(name="X-B", unit="ms"),
        )
    )
    outgoing = Outgoing.of(policy)
    with budget(1.0):
        sent = outgoing.headers()
    assert list(sent) == ["X-B"]
    assert 700 < int(sent["X-B"]) <= 800
    assert BudgetTransport.of(policy)._outgoing.reserve == 0.2
    assert AsyncBudgetTransport.of(policy)._outgoing.header == outgoing.header
    assert Outgoing.of(Policy()).headers() == {}


def test_a_timeout_is_shortened_never_lengthened() -> None:
    """None is no limit for a client, so any budget is shorter."""
    outgoing = Outgoing()
    assert outgoing.shorten(None) is None
    assert outgoing.shorten(5.0) == 5.0
    with budget(2.0):
        shortened = outgoing.shorten(None)
        assert shortened is not None
        assert shortened <= 2.0
        assert outgoing.shorten(0.5) == 0.5
