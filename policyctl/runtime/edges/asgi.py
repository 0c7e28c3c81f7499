"""Inbound protection as plain ASGI middleware.

The application runs in the same task and context as the middleware, so that a budget
set here is seen by the endpoint and by everything around the response.
"""

from __future__ import annotations

from policyctl.runtime.budget import NO_DEADLINE, budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    from policyctl.runtime.inbound import Inbound, Refusal

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsgiGuard:
    """An ASGI application behind an ``Inbound``.

    HTTP requests get a slot and a budget: a full bulkhead is answered with 503 and
    Retry-After, a budget that is gone with 504. A request without budget keeps the
    limit that is in force where the server calls, normally none. WebSockets and
    lifespan events pass untouched: they are not requests with an end in sight.

    Work that outlives the response (background tasks) runs under the request's
    budget; open ``detached_budget()`` in it if it should not.
    """

    __slots__ = ("_app", "_inbound")

    def __init__(self, inbound: Inbound, app: AsgiApp) -> None:
        self._inbound = inbound
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seconds = self._inbound.budget_of(self._header_values(scope))
        if seconds == 0:
            await _answer(self._inbound.expired(), scope, send)
            return
        with budget(NO_DEADLINE if seconds is None else seconds):
            await self._in_slot(scope, receive, send)

    async def _in_slot(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._inbound.enter_async()
        if refusal is not None:
            await _answer(refusal, scope, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._inbound.leave()

    def _header_values(self, scope: Scope) -> list[bytes]:
        name = self._inbound.header
        if name is None:
            return []
        wanted = name.encode("latin-1")
        return [value for key, value in scope["headers"] if key.lower() == wanted]


async def _answer(refusal: Refusal, scope: Scope, send: Send) -> None:
    headers = [(name.encode(), value.encode()) for name, value in refusal.headers()]
    await send(
        {"type": "http.response.start", "status": refusal.status, "headers": headers}
    )
    body = b"" if scope["method"] == "HEAD" else refusal.body.encode()
    await send({"type": "http.response.body", "body": body})
