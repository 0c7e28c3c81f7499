"""Transports for httpx that send the remaining budget and the idempotency key on.

    client = httpx.Client(transport=BudgetTransport())

The client's own timeouts are shortened to what is left of the budget, the one for
connecting to ``attempt_timeout.connect`` too. Headers that a request has already are
left alone.

A client with a transport of its own takes no proxies from the environment and ignores
``verify``, ``cert``, ``http2`` and ``limits``: give those to an ``HTTPTransport`` and that
as ``transport`` here.
"""

from __future__ import annotations

import httpx

from policyctl.runtime.edges.outgoing import Outgoing
from policyctl.runtime.settings import BudgetHeader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.policy import Policy


class BudgetTransport(httpx.BaseTransport):
    """For ``httpx.Client``; wraps ``transport``, an ``HTTPTransport`` unless given.

    Without ``header`` each request carries that of the operation that it is sent for.
    Requests raise ``BudgetExhaustedError`` where nothing is left to pass on.
    """

    def __init__(
        self,
        header: BudgetHeader | None = None,
        *,
        reserve: float = 0.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._outgoing = Outgoing(header, reserve)
        self._inner = httpx.HTTPTransport() if transport is None else transport

    @classmethod
    def of(
        cls, policy: Policy, transport: httpx.BaseTransport | None = None
    ) -> BudgetTransport:
        """With the header, reserve and connect limit of one operation."""
        made = cls(transport=transport)
        made._outgoing = Outgoing.of(policy)
        return made

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with what is left."""
        return self._inner.handle_request(_prepared(self._outgoing, request))

    def close(self) -> None:
        """Close the wrapped transport."""
        self._inner.close()


class AsyncBudgetTransport(httpx.AsyncBaseTransport):
    """For ``httpx.AsyncClient``; otherwise like ``BudgetTransport``."""

    def __init__(
        self,
        header: BudgetHeader | None = None,
        *,
        reserve: float = 0.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._outgoing = Outgoing(header, reserve)
        self._inner = httpx.AsyncHTTPTransport() if transport is None else transport

    @classmethod
    def of(
        cls, policy: Policy, transport: httpx.AsyncBaseTransport | None = None
    ) -> AsyncBudgetTransport:
        """With the header, reserve and connect limit of one operation."""
        made = cls(transport=transport)
        made._outgoing = Outgoing.of(policy)
        return made

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with what is left."""
        prepared = _prepared(self._outgoing, request)
        return await self._inner.handle_async_request(prepared)

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()


def _prepared(outgoing: Outgoing, request: httpx.Request) -> httpx.Request:
    """A copy, because the request itself may be sent again: redirected, or retried."""
    headers = request.headers.copy()
    headers.update(outgoing.headers(headers))
    timeouts: dict[str, float | None] = request.extensions.get("timeout", {})
    shortened = {
        name: outgoing.shorten(timeouts.get(name)) for name in ("read", "write", "pool")
    }
    shortened["connect"] = outgoing.shorten_connect(timeouts.get("connect"))
    return httpx.Request(
        request.method,
        request.url,
        headers=headers,
        stream=request.stream,
        extensions={**request.extensions, "timeout": shortened},
    )
