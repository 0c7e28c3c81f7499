"""For aiohttp: the remaining budget and the idempotency key, and the connect limit.

    session = aiohttp.ClientSession(
        connector=BudgetConnector(), trace_configs=[budget_trace()]
    )

The trace adds headers; the connector keeps to ``attempt_timeout.connect``. aiohttp's
timeouts are left alone: an operation's budget cancels a coroutine anyway.
"""

from __future__ import annotations

from asyncio import timeout as time_limit

import aiohttp

from policyctl.runtime.edges.outgoing import Outgoing
from policyctl.runtime.settings import BudgetHeader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace
    from typing import Any

    from policyctl.runtime.policy import Policy


class BudgetConnector(aiohttp.TCPConnector):
    """A ``TCPConnector``; arguments are passed on to it.

    Finding the host, connecting and the TLS handshake take at most
    ``attempt_timeout.connect`` of the operation in progress together; what takes longer
    is a ``ConnectionTimeoutError``, as it is by aiohttp's own limits.
    """

    async def _create_connection(self, *args: Any, **kwargs: Any) -> Any:
        # What connectors have to define: it makes a connection where none is free.
        async with time_limit(Outgoing().connect_limit()):
            return await super()._create_connection(*args, **kwargs)


def budget_trace(
    header: BudgetHeader | None = None, *, reserve: float = 0.0
) -> aiohttp.TraceConfig:
    """For ``ClientSession(trace_configs=[…])``: adds the headers to each request.

    Without ``header`` each request carries that of the operation that it is sent for.
    Requests raise ``BudgetExhaustedError`` where nothing is left to pass on. Headers
    that a request has already are left alone.
    """
    return _trace(Outgoing(header, reserve))


def budget_trace_of(policy: Policy) -> aiohttp.TraceConfig:
    """With the header and reserve of an operation's ``budget`` block."""
    return _trace(Outgoing.of(policy))


def _trace(outgoing: Outgoing) -> aiohttp.TraceConfig:
    async def add_headers(
        session: aiohttp.ClientSession,
        context: SimpleNamespace,
        params: aiohttp.TraceRequestStartParams,
    ) -> None:
        added = outgoing.headers(params.headers)
        params.headers.update(added)
        context.policyctl_added = added

    async def follow(
        session: aiohttp.ClientSession,
        context: SimpleNamespace,
        params: aiohttp.TraceRequestRedirectParams,
    ) -> None:
        header, _ = outgoing.budget_header()
        if header is not None and header.name in context.policyctl_added:
            params.headers.update(outgoing.budget())

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(add_headers)
    trace.on_request_redirect.append(follow)
    return trace
