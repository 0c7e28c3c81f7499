"""What servers ask of retries: kubescape/kubevuln #754, hermes-agent #84738, grpc A6.

A ``Retry-After`` of zero, or an instant that has passed by clock skew alone, turned off
the back-off just when a server was struggling. A gRPC server that pushes back with a
negative number asks for no retry, and was asked again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

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


ANSWERS = {
    "capitals": {"RETRY-AFTER": "4"},
    "bytes": {"Retry-After": b"4"},
    "number": {"retry-after": 4},
    "list": {"Retry-After": ["4"]},
    "pairs": [("Content-Type", "text/plain"), ("retry-After", "4")],
    "raw pairs": [(b"retry-after", b"4")],
}


@pytest.mark.parametrize("headers", ANSWERS.values(), ids=ANSWERS)
async def test_headers_of_any_client_are_read(
    headers: Any, generated: Generated, form: Any, script: Any, clock: Any
) -> None:
    """However a client spells and holds them."""
    fn = script(SimpleNamespace(status="503 Service Unavailable", headers=headers), 7)
    began = clock.now()
    assert await form.guard(generated(HTTP)["get"], fn)() == 7
    assert clock.now() - began == pytest.approx(4.0)


async def test_the_headers_of_botocore_are_read(
    generated: Generated, form: Any, script: Any, clock: Any
) -> None:
    """Its errors hold a dictionary."""

    class ClientError(Exception):
        """As botocore raises it."""

        response: ClassVar[dict[str, Any]] = {
            "ResponseMetadata": {
                "HTTPStatusCode": 503,
                "HTTPHeaders": {"retry-after": "4"},
            }
        }

    fn = script(ClientError(), 7)
    began = clock.now()
    assert await form.guard(generated(HTTP)["get"], fn)() == 7
    assert clock.now() - began == pytest.approx(4.0)


@pytest.mark.parametrize(
    "hint", ["9" * 400, b"\xff", {}, [], ["3", "5"], True, float("nan")]
)
async def test_headers_that_say_nothing_leave_the_back_off(
    hint: Any, generated: Generated, form: Any, script: Any, clock: Any
) -> None:
    """No value breaks the call, and each waits as the policy says."""
    answer = SimpleNamespace(status_code=503, headers={"Retry-After": hint})
    began = clock.now()
    assert await form.guard(generated(HTTP)["get"], script(answer, 7))() == 7
    assert clock.now() - began == pytest.approx(1.0)
