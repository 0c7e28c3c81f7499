"""Inbound protection of WSGI applications (C28)."""

from __future__ import annotations

import threading
import wsgiref.util
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.validate import validator

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import remaining_budget
from policyctl.runtime.inbound import Inbound
from policyctl.testing import fake_clock

BUDGET = settings.InboundBudget(
    default=10.0, max=30.0, header=settings.BudgetHeader(name="X-Budget-Ms", unit="ms")
)


def call(app: Any, **headers: str) -> tuple[str, dict[str, str], list[bytes]]:
    """One request through wsgiref's validator: status, headers, body parts."""
    environ: dict[str, Any] = {"QUERY_STRING": ""}
    wsgiref.util.setup_testing_defaults(environ)
    environ.update(headers)
    answer: list[Any] = []

    def start(status: str, fields: list[tuple[str, str]], exc: Any = None) -> Any:
        answer[:] = [status, {name.lower(): value for name, value in fields}]
        return lambda data: None

    body: Any = validator(app)(environ, start)
    try:
        parts = list(body)
    finally:
        body.close()
    return answer[0], answer[1], parts


def plain(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Answers with the budget that it sees."""
    start("200 OK", [("Content-Type", "text/plain")])
    return [str(remaining_budget()).encode()]


@pytest.mark.parametrize(
    ("headers", "seen"),
    [
        ({}, b"10.0"),
        ({"HTTP_X_BUDGET_MS": "2500"}, b"2.5"),
        ({"HTTP_X_BUDGET_MS": "90000"}, b"30.0"),
        ({"HTTP_X_BUDGET_MS": "nan"}, b"10.0"),
        ({"HTTP_X_BUDGET_MS": "5,5"}, b"10.0"),
    ],
)
def test_the_application_sees_its_budget(headers: dict[str, str], seen: bytes) -> None:
    """The header in its unit, clamped, or the default; gone afterwards."""
    with fake_clock():
        status, _, parts = call(Inbound(budget=BUDGET).wsgi(plain), **headers)
    assert (status, parts) == ("200 OK", [seen])
    assert remaining_budget() is None


def test_expired_is_504_and_full_is_503() -> None:
    """Both are answered in plain text without calling the application."""
    inbound = Inbound(budget=BUDGET, bulkhead=settings.Bulkhead(max_concurrent=1))
    guarded = inbound.wsgi(plain)
    status, headers, parts = call(guarded, HTTP_X_BUDGET_MS="0")
    assert (status, parts) == (
        "504 Gateway Timeout",
        [b"the time for this request is over\n"],
    )
    assert headers["content-length"] == str(len(parts[0]))
    assert inbound.enter() is None
    status, headers, parts = call(guarded)
    assert (status, headers["retry-after"]) == ("503 Service Unavailable", "1")
    inbound.leave()
    assert call(guarded)[0] == "200 OK"


class Stream:
    """A body in steps that notes the budget of each and its own close."""

    def __init__(self) -> None:
        self.seen: list[float | None] = []
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(3):
            self.seen.append(remaining_budget())
            yield b"x"

    def close(self) -> None:
        """Note that the server is done."""
        self.closed = True
        self.seen.append(remaining_budget())


def test_a_streamed_body_holds_its_slot_and_budget_until_closed() -> None:
    """Each step runs under the deadline; the server's thread has none between."""
    inbound = Inbound(budget=BUDGET, bulkhead=settings.Bulkhead(max_concurrent=1))
    stream = Stream()

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [])
        return stream

    with fake_clock() as clock:
        body: Any = inbound.wsgi(app)({}, lambda *_: None)
        for left in (3, 2):
            assert next(body) == b"x"
            assert remaining_budget() is None
            assert inbound.statistics()["in_use"] == 1
            clock.advance(1.0)
            assert left
        body.close()
        body.close()
    assert stream.closed
    assert stream.seen == [10.0, 9.0, 8.0, 8.0]
    assert inbound.statistics()["in_use"] == 0


def test_an_error_gives_the_slot_back() -> None:
    """Whether the application raises at once or in the middle of its body."""
    inbound = Inbound(bulkhead=settings.Bulkhead(max_concurrent=1))

    def broken(environ: Any, start: Any) -> Iterable[bytes]:
        raise ValueError("broken")

    def late(environ: Any, start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        return iter(lambda: 1 / 0, None)  # type: ignore[arg-type, return-value]

    with pytest.raises(ValueError, match="broken"):
        inbound.wsgi(broken)({}, lambda *_: None)
    body: Any = inbound.wsgi(late)({}, lambda *_: None)
    with pytest.raises(ZeroDivisionError):
        next(body)
    body.close()
    assert inbound.statistics()["in_use"] == 0


def test_a_thread_waits_for_a_slot() -> None:
    """Within max_wait it gets the next one; with its budget gone it is 504."""
    inbound = Inbound(
        budget=BUDGET,
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=5, max_wait=30.0),
    )
    guarded = inbound.wsgi(plain)
    inbound.enter()
    assert call(guarded, HTTP_X_BUDGET_MS="50")[0] == "504 Gateway Timeout"
    threading.Timer(0.05, inbound.leave).start()
    assert call(guarded)[0] == "200 OK"
    assert inbound.statistics()["in_use"] == 0


def test_a_thread_waits_for_its_token() -> None:
    """Rate limits hold for threads too: a wait within max_wait, else 429."""
    inbound = Inbound(rate_limit=settings.RateLimit(rate=0.5, burst=1, max_wait=2.0))
    guarded = inbound.wsgi(plain)
    with fake_clock() as clock:
        assert [call(guarded)[0] for _ in range(2)] == ["200 OK"] * 2
        assert clock.slept == [2.0]
        bucket = inbound._bucket
        assert bucket is not None
        assert bucket.take(60.0) == (True, 2.0)
        status, headers, _ = call(guarded)
        assert (status, headers["retry-after"]) == ("429 Too Many Requests", "4")


class Quiet(WSGIRequestHandler):
    """Writes no log lines."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def test_behind_a_real_server() -> None:
    """Over loopback: the budget in, and 503 while the only slot is taken."""
    inbound = Inbound(budget=BUDGET, bulkhead=settings.Bulkhead(max_concurrent=1))
    server: WSGIServer = make_server(
        "127.0.0.1", 0, inbound.wsgi(plain), handler_class=Quiet
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        with httpx.Client(trust_env=False) as http:
            text = http.get(url, headers={"X-Budget-Ms": "4000"}).text
            assert 3.5 < float(text) <= 4.0
            inbound.enter()
            assert http.get(url).status_code == 503
            inbound.leave()
            assert http.get(url).status_code == 200
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_refused_head_request_gets_headers_alone() -> None:
    """A body would be read as the beginning of the next answer."""
    status, headers, body = call(
        Inbound(budget=BUDGET).wsgi(plain), REQUEST_METHOD="HEAD", HTTP_X_BUDGET_MS="0"
    )
    assert status == "504 Gateway Timeout"
    assert headers["content-length"] == "34"
    assert body == []


def test_a_body_that_is_dropped_gives_its_slot_back() -> None:
    """Middleware that joins the parts and forgets close() blocks nobody for ever."""
    inbound = Inbound(bulkhead=settings.Bulkhead(max_concurrent=1))

    def streaming(
        environ: dict[str, Any], start: Callable[..., Any]
    ) -> Iterable[bytes]:
        start("200 OK", [])
        yield b"a"
        yield b"b"

    guarded = inbound.wsgi(streaming)

    def forgetful(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        return [b"".join(guarded(environ, start))]

    for _ in range(3):
        environ: dict[str, Any] = {}
        wsgiref.util.setup_testing_defaults(environ)
        assert forgetful(environ, lambda *_: None) == [b"ab"]
        assert inbound.statistics()["in_use"] == 0


def test_a_body_whose_close_fails_gives_its_slot_back_once() -> None:
    """However often the server closes it, and whatever it is that fails."""
    inbound = Inbound(bulkhead=settings.Bulkhead(max_concurrent=1))

    class Body:
        def __iter__(self) -> Iterator[bytes]:
            yield b"a"
            raise ValueError("in the middle")

        def close(self) -> None:
            raise KeyError("at the end")

    body: Any = inbound.wsgi(lambda environ, start: Body())({}, lambda *_: None)
    with pytest.raises(ValueError, match="in the middle"):
        list(body)
    assert inbound.statistics()["in_use"] == 1
    for _ in range(2):
        with pytest.raises(KeyError, match="at the end"):
            body.close()
        assert inbound.statistics()["in_use"] == 0
