"""A trace for aiohttp that sends the remaining budget and the idempotency key on.

    session = aiohttp.ClientSession(trace_configs=[budget_trace(header)])

aiohttp's timeouts are left alone: an operation's budget cancels a coroutine anyway.
"""

from __future__ import annotations

import aiohttp

from policyctl.runtime.edges.outgoing import Outgoing
from policyctl.runtime.settings import BudgetHeader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from policyctl.runtime.policy import Policy


def budget_trace(
    header: BudgetHeader | None = None, *, reserve: float = 0.0
) -> aiohttp.TraceConfig:
    """For ``ClientSession(trace_configs=[…])``: adds the headers to each request.

    Requests raise ``BudgetExhaustedError`` where nothing is left to pass on. Headers
    that a request has already are left alone.
    """
    outgoing = Outgoing(header, reserve)

    async def add_headers(
        session: aiohttp.ClientSession,
        context: SimpleNamespace,
        params: aiohttp.TraceRequestStartParams,
    ) -> None:
        params.headers.update(outgoing.headers(params.headers))

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(add_headers)
    return trace


def budget_trace_of(policy: Policy) -> aiohttp.TraceConfig:
    """With the header and reserve of an operation's ``budget`` block."""
    found = Outgoing.of(policy)
    return budget_trace(found.header, reserve=found.reserve)
