"""What servers ask of retries: kubescape/kubevuln #754, Bike4Mind #2159, grpc/proposal A6.

A ``Retry-After`` of zero, or an instant that has passed by clock skew alone, turned off
the back-off just when a server was struggling. A gRPC server that pushes back with a
negative number asks for no retry, and was asked again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]
Settle = Callable[[Awaitable[Any]], Awaitable[Any]]

HTTP = """
get:
  idempotent: true
  transport: http
  retry: {max_attempts: 3, backoff: {initial: 1s, multiplier: 2, jitter: none}}
"""
GRPC = """
get:
  idempotent: true
  transport: grpc
  retry:
    max_attempts: 3
    retry_on_status: [UNAVAILABLE]
    backoff: {initial: 1s, multiplier: 2, jitter: none}
"""


class HttpError(Exception):
    """As HTTP clients raise it."""

    def __init__(self, retry_after: str) -> None:
        self.status_code = 503
        self.response = SimpleNamespace(headers={"Retry-After": retry_after})


class RpcError(Exception):
    """As grpc raises it, with trailing metadata."""

    def __init__(self, pushback: str | bytes) -> None:
        self._pushback = pushback

    def code(self) -> str:
        """The status."""
        return "UNAVAILABLE"

    def trailing_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """What the server sent last."""
        return (("grpc-retry-pushback-ms", self._pushback),)


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ("0", 3.0),
        ("0.0", 3.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 3.0),
        ("-5", 3.0),
        ("soon", 3.0),
        ("3, 5", 3.0),
        ("4", 8.0),
    ],
)
async def test_a_hint_of_nothing_leaves_the_back_off(
    header: str, waited: float, generated: Generated, form: Any, script: Any, clock: Any
) -> None:
    """Zero, the past and nonsense wait as the policy says; a real hint is kept to."""
    fn = script(HttpError(header), HttpError(header), "done")
    began = clock.now()
    assert await form.guard(generated(HTTP)["get"], fn)() == "done"
    assert fn.entries == 3
    assert clock.now() - began == pytest.approx(waited)


@pytest.mark.parametrize("pushback", ["-1", b"-1", "never", "", "9" * 100])
async def test_pushback_that_asks_for_no_retry_ends_the_call(
    pushback: str | bytes,
    generated: Generated,
    form: Any,
    script: Any,
    settle: Settle,
    clock: Any,
) -> None:
    """One entry, and the note says whose wish it was."""
    fn = script(RpcError(pushback))
    error = await settle(form.guard(generated(GRPC)["get"], fn)())
    assert fn.entries == 1
    assert "the server asks for no retry" in error.__notes__[0]


async def test_pushback_in_milliseconds_is_waited_for(
    generated: Generated, form: Any, script: Any, clock: Any
) -> None:
    """250 as text and 750 as bytes are one second together."""
    fn = script(RpcError("250"), RpcError(b"750"), "done")
    began = clock.now()
    assert await form.guard(generated(GRPC)["get"], fn)() == "done"
    assert clock.now() - began == pytest.approx(1.0)
