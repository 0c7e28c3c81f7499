"""An inbound rate limit that all servers of a service share over Redis."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.shared import link as links
from policyctl.runtime.shared.rate_limit import PREFIX

Servers = Callable[..., Inbound]


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """``servers(n, rate=…)``: the protection as the n-th server of the service has it."""

    def server(number: int, **changes: Any) -> Inbound:
        name = f"SERVER_{number}"
        monkeypatch.setenv(name, os.environ["POLICY_REDIS_URL"])
        limit = settings.RateLimit(store="redis", url_env=name, **changes)
        return Inbound(service="shop", rate_limit=limit)

    yield server
    links.close_links()
    links._links.clear()


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers 200."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def wsgi_app(environ: Any, start_response: Any) -> list[bytes]:
    """Answers 200."""
    start_response("200 OK", [])
    return [b""]


def asgi_statuses(inbound: Inbound, requests: int) -> list[int]:
    """The statuses of so many requests, one after the other."""

    async def run() -> list[int]:
        transport = httpx.ASGITransport(app=inbound.asgi(app))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://shop"
        ) as client:
            return [(await client.get("/")).status_code for _ in range(requests)]

    return asyncio.run(run())


def wsgi_statuses(inbound: Inbound, requests: int) -> list[int]:
    """The same through WSGI."""
    transport = httpx.WSGITransport(app=inbound.wsgi(wsgi_app))
    with httpx.Client(transport=transport, base_url="http://shop") as client:
        return [client.get("/").status_code for _ in range(requests)]


@pytest.mark.parametrize("statuses", [asgi_statuses, wsgi_statuses])
def test_servers_share_one_bucket(
    valkey: Any, servers: Servers, statuses: Callable[[Inbound, int], list[int]]
) -> None:
    """Two servers have five tokens together; the sixth request is 429 on either."""
    one, two = (servers(n, rate=0.1, burst=5) for n in (1, 2))
    assert statuses(one, 3) == [200, 200, 200]
    assert statuses(two, 4) == [200, 200, 429, 429]
    assert statuses(one, 1) == [429]
    assert two.statistics()["refused"]["rate_limited"] == 2
    assert valkey.client().keys() == [f"{PREFIX}shop.inbound".encode()]


def test_a_refusal_says_when(valkey: Any, servers: Servers) -> None:
    """Retry-After is the time until the shared bucket has a token, in whole seconds."""
    inbound = servers(1, rate=0.25, burst=1)
    assert inbound.enter() is None
    refusal = inbound.enter()
    assert refusal is not None
    assert refusal.status == 429
    assert dict(refusal.headers())["retry-after"] == "4"


@pytest.mark.timing
@pytest.mark.parametrize("statuses", [asgi_statuses, wsgi_statuses])
def test_a_request_waits_for_its_token(
    valkey: Any, servers: Servers, statuses: Callable[[Inbound, int], list[int]]
) -> None:
    """Within max_wait it is answered, a tenth of a second later."""
    inbound = servers(1, rate=10.0, burst=1, max_wait=2.0)
    started = time.monotonic()
    assert statuses(inbound, 3) == [200, 200, 200]
    assert 0.15 < time.monotonic() - started < 2.0


def test_without_the_store_each_server_has_its_own(
    own_valkey: Any, servers: Servers
) -> None:
    """A store that is away refuses nobody who would pass alone, and never raises."""
    inbound = servers(1, rate=0.1, burst=3)
    own_valkey.stop()
    assert wsgi_statuses(inbound, 4) == [200, 200, 200, 429]


@pytest.mark.timing
def test_a_request_that_is_gone_gives_its_token_back(
    valkey: Any, servers: Servers, wait_until: Any
) -> None:
    """A disconnect while it waits for the token returns it to all servers."""
    one, two = (servers(n, rate=0.2, burst=1, max_wait=6.0) for n in (1, 2))

    async def run() -> None:
        assert await one.enter_async() is None
        waiting = asyncio.create_task(one.enter_async())
        await asyncio.sleep(0.3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
    client = valkey.client()
    wait_until(lambda: float(client.hget(f"{PREFIX}shop.inbound", "tokens")) > -0.5)
    bucket = two._bucket
    assert bucket is not None
    assert bucket.take(5.0)[0]


def test_a_protection_without_a_name_shares_nothing() -> None:
    """Its bucket would be everybody's."""
    limit = settings.RateLimit(rate=1.0, store="redis")
    with pytest.raises(PolicyConfigError, match=r"rate_limit\.store"):
        Inbound(rate_limit=limit)
