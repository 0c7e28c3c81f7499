"""Inbound protection as plain WSGI middleware.

A streamed body is produced after the application has returned, so the slot is held
until the server closes it, and the budget is put in force around each of its steps:
between them the thread belongs to the server.
"""

from __future__ import annotations

from policyctl.runtime.budget import DEADLINE, NO_DEADLINE, budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from policyctl.runtime.inbound import Inbound, Refusal

    Environ = dict[str, Any]
    StartResponse = Callable[..., Any]
    WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]


class WsgiGuard:
    """A WSGI application behind an ``Inbound``.

    A full bulkhead is answered with 503 and Retry-After, a budget that is gone with
    504. A server that folds repeated headers into one with commas makes them a text
    that is ignored, as two values are.
    """

    __slots__ = ("_app", "_inbound", "_key")

    def __init__(self, inbound: Inbound, app: WsgiApp) -> None:
        self._inbound = inbound
        self._app = app
        name = inbound.header
        self._key = None if name is None else "HTTP_" + name.upper().replace("-", "_")

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        value = None if self._key is None else environ.get(self._key)
        seconds = self._inbound.budget_of([] if value is None else [value])
        if seconds == 0:
            return _answer(self._inbound.expired(), environ, start_response)
        with budget(NO_DEADLINE if seconds is None else seconds):
            refusal = self._inbound.enter()
            if refusal is not None:
                return _answer(refusal, environ, start_response)
            deadline = DEADLINE.get()
            try:
                body = self._app(environ, start_response)
            except BaseException:
                self._inbound.leave()
                raise
        if isinstance(body, (list, tuple)):
            self._inbound.leave()
            return body
        return _Body(self._inbound, body, deadline)


class _Body:
    """A streamed response: steps under the budget, the slot until close()."""

    __slots__ = ("_body", "_deadline", "_inbound", "_steps")

    def __init__(
        self, inbound: Inbound, body: Iterable[bytes], deadline: float
    ) -> None:
        self._inbound: Inbound | None = inbound
        self._body = body
        self._deadline = deadline
        self._steps: Iterator[bytes] | None = None

    def __iter__(self) -> _Body:
        return self

    def __next__(self) -> bytes:
        token = DEADLINE.set(self._deadline)
        try:
            if self._steps is None:
                self._steps = iter(self._body)
            return next(self._steps)
        finally:
            DEADLINE.reset(token)

    def close(self) -> None:
        """Called by the server when it is done, however the response ended."""
        token = DEADLINE.set(self._deadline)
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            DEADLINE.reset(token)
            self._leave()

    def __del__(self) -> None:
        """Middleware that joins a body and drops it without close() is common."""
        self._leave()

    def _leave(self) -> None:
        inbound, self._inbound = self._inbound, None
        if inbound is not None:
            inbound.leave()


def _answer(
    refusal: Refusal, environ: dict[str, Any], start_response: StartResponse
) -> list[bytes]:
    status = f"{refusal.status} {refusal.reason}"
    headers = [(name.title(), value) for name, value in refusal.headers()]
    start_response(status, headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [refusal.body.encode()]
