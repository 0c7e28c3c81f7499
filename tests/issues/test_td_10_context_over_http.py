"""TD-10: the budget is visible on both sides of middleware that starts tasks.

``tests/runtime/edges/test_asgi.py`` holds the details; this is the whole way over a
real request: header in, endpoint, an outgoing call with what remains.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from policyctl.runtime import settings
from policyctl.runtime.edges.httpx import AsyncBudgetTransport
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.policy import Policy

HEADER = settings.BudgetHeader(name="X-Timeout-Budget")


async def test_what_comes_in_goes_out_again(clock: Any) -> None:
    """5 s arrive, 2 s pass, the operation's own budget is longer, 2.8 s go on."""
    sent: list[str] = []

    def callee(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["x-timeout-budget"])
        return httpx.Response(200)

    policy = Policy(budget=settings.Budget(total=15.0, reserve=0.2, header=HEADER))
    transport = AsyncBudgetTransport.of(policy, httpx.MockTransport(callee))

    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        clock.advance(2.0)

        @policy
        async def call() -> int:
            async with httpx.AsyncClient(transport=transport) as client:
                return (await client.get("http://callee/")).status_code

        body = str(await call()).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def in_another_task(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.create_task(endpoint(scope, receive, send))

    inbound = Inbound(budget=settings.InboundBudget(default=10.0, header=HEADER))
    app = httpx.ASGITransport(app=inbound.asgi(in_another_task))
    async with httpx.AsyncClient(transport=app, base_url="http://server") as client:
        response = await client.get("/", headers={"X-Timeout-Budget": "5"})
    assert response.text == "200"
    assert sent == ["2.800"]
