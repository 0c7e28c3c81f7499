"""The FastAPI example: fresh, typed, and driven through an outage of its provider."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from examples.quotes_service.app import app
from examples.quotes_service.resilience import quotes_api

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "quotes_service"


class Provider(ThreadingHTTPServer):
    """A rate provider that answers with the status it is told, and counts requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.status = 200
        self.received = 0
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answer every path alike."""

    server: Provider

    def do_GET(self) -> None:
        """Send the status and a rate."""
        self.server.received += 1
        body = json.dumps({"rate": 1.25}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A running provider."""
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
async def client(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """The service, pointed at the provider, with a fresh breaker."""
    monkeypatch.setenv("RATES_URL", f"http://127.0.0.1:{provider.server_address[1]}")
    quotes_api.latest.circuit_breaker.reset()
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://service") as running,
    ):
        yield running
    quotes_api.latest.circuit_breaker.reset()


def test_generated_code_is_fresh() -> None:
    """The committed package is what the policies generate."""
    done = subprocess.run(
        [sys.executable, "-m", "policyctl", "generate", "--check"],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_policies_are_clean() -> None:
    """The example follows the advice of every rule."""
    done = subprocess.run(
        [sys.executable, "-m", "policyctl", "validate", "--fail-on", "warning"],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def test_healthy_provider(client: httpx.AsyncClient, provider: Provider) -> None:
    """A quote passes through with one request."""
    answer = await client.get("/quotes/EURUSD")
    assert (answer.status_code, answer.json()) == (
        200,
        {"pair": "EURUSD", "rate": 1.25},
    )
    assert provider.received == 1


async def test_unknown_pair_is_not_retried(
    client: httpx.AsyncClient, provider: Provider
) -> None:
    """A 404 is the caller's mistake: one request, and the breaker does not count it."""
    provider.status = 404
    assert (await client.get("/quotes/XXX")).status_code == 502
    assert provider.received == 1
    assert quotes_api.latest.circuit_breaker.failures == 0


async def test_outage_opens_the_breaker_and_then_costs_nothing(
    client: httpx.AsyncClient, provider: Provider
) -> None:
    """The fifth failed attempt opens the circuit; then pages get "no rate" at once.

    Two pages fail with two attempts each. The third page's first attempt is the fifth
    failure: its retry meets the open circuit, so the fallback answers.
    """
    provider.status = 503
    pages = [await client.get("/quotes/EURUSD") for _ in range(23)]
    assert [page.status_code for page in pages] == [502, 502] + [200] * 21
    assert {page.json()["rate"] for page in pages[2:]} == {None}
    assert provider.received == 5
    assert (await client.get("/health")).json() == {"rates": "open"}
