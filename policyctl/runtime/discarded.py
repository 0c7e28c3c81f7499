"""Responses that nobody will see, closed so that their connections come back.

A client's response whose body is unread keeps its connection out of the pool until it is
closed. Whoever gets the answer of a call does that; for an answer that is dropped, before
a retry or by a hedge, it is done here.
"""

from __future__ import annotations

from policyctl.runtime.signatures import PLAIN, attribute, is_awaitable
from policyctl.runtime.status import status_of

LONGEST = 1.0
"""Seconds that closing a response may take in a task; the call has to go on."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def drop(error: Exception | None, result: object) -> None:
    """Close the response in what an attempt ended with, if there is one."""
    response = response_of(error, result)
    if response is None:
        return
    try:
        closing = response.close()
        if is_awaitable(closing):
            closing.close()
    except Exception:  # nobody's concern any more
        return


async def drop_in_task(error: Exception | None, result: object) -> None:
    """``drop`` for coroutines, by ``aclose`` where there is one, for ``LONGEST`` at most."""
    response = response_of(error, result)
    if response is None:
        return
    from asyncio import timeout

    try:
        closing = (attribute(response, "aclose") or response.close)()
        if is_awaitable(closing):
            async with timeout(LONGEST):
                await closing
    except Exception:  # nobody's concern any more
        return


def response_of(error: Exception | None, result: object) -> Any:
    """The response in what an attempt ended with: its result, or its error's.

    None where there is none: what can be closed but has no status, such as a file or a
    connection, is no response, and whoever made it may want it again.
    """
    held = result if error is None else attribute(error, "response")
    if type(held) in PLAIN:
        return None
    closes = attribute(held, "close") or attribute(held, "aclose")
    return held if callable(closes) and status_of(held) is not None else None
