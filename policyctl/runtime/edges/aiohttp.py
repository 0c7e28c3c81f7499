"""A trace for aiohttp that sends the remaining budget and the idempotency key on.

    session = aiohttp.ClientSession(trace_configs=[budget_trace(header)])

aiohttp's timeouts are left alone: an operation's budget cancels a coroutine anyway.
"""

from __future__ import annotations

import aiohttp

from policyctl.runtime.budget import outgoing_budget
from policyctl.runtime.budget_header import format_budget_header
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
        added = outgoing.headers(params.headers)
        params.headers.update(added)
        context.policyctl_added = added

    async def follow(
        session: aiohttp.ClientSession,
        context: SimpleNamespace,
        params: aiohttp.TraceRequestRedirectParams,
    ) -> None:
        if header is not None and header.name in context.policyctl_added:
            left = outgoing_budget(reserve) or 0.0
            params.headers[header.name] = format_budget_header(left, header.unit)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(add_headers)
    trace.on_request_redirect.append(follow)
    return trace


def budget_trace_of(policy: Policy) -> aiohttp.TraceConfig:
    """With the header and reserve of an operation's ``budget`` block."""
    found = Outgoing.of(policy)
    return budget_trace(found.header, reserve=found.reserve)
