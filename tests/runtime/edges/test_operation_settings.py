"""``budget.header`` and ``attempt_timeout.connect`` of an operation, by real clients."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.conditions import conditions_of
from policyctl.runtime.edges.httpx import AsyncBudgetTransport, BudgetTransport
from policyctl.runtime.errors import AttemptTimeoutError, BudgetExhaustedError
from policyctl.runtime.outgoing import (
    SENDING,
    UnusedSettingWarning,
    connect_timeout,
    outgoing_headers,
)
from policyctl.runtime.policy import Policy

HEADER = settings.BudgetHeader(name="X-Left", unit="ms")
OTHER = settings.BudgetHeader(name="X-Other")
Request = Callable[[str], None]
AsyncRequest = Callable[[str], Any]


class Handler(BaseHTTPRequestHandler):
    """Notes the headers of each request; the first to /flaky is answered with 503."""

    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        """Answer."""
        self.seen.append({k.lower(): v for k, v in self.headers.items()})
        self.send_response(503 if self.path == "/flaky" and len(self.seen) < 2 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a server on loopback and the headers that it saw."""
    handler = type("Noting", (Handler,), {"seen": []})
    found = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}", handler.seen  # type: ignore[attr-defined]
    found.shutdown()
    thread.join()
    found.server_close()


def by_httpx(url: str) -> None:
    """A request of httpx.Client, whose transport is told nothing."""
    with httpx.Client(transport=BudgetTransport()) as client:
        client.get(url).raise_for_status()


def by_requests(url: str) -> None:
    """A request of a requests session, whose adapter is told nothing."""
    requests = pytest.importorskip("requests")
    from policyctl.runtime.edges.requests import BudgetAdapter

    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", BudgetAdapter())
        session.mount("https://", BudgetAdapter())
        session.get(url).raise_for_status()


async def by_httpx_async(url: str) -> None:
    """A request of httpx.AsyncClient, whose transport is told nothing."""
    async with httpx.AsyncClient(transport=AsyncBudgetTransport()) as client:
        (await client.get(url)).raise_for_status()


async def by_aiohttp(url: str) -> None:
    """A request of an aiohttp session, whose trace and connector are told nothing."""
    aiohttp = pytest.importorskip("aiohttp")
    from policyctl.runtime.edges.aiohttp import BudgetConnector, budget_trace

    async with aiohttp.ClientSession(
        connector=BudgetConnector(), trace_configs=[budget_trace()]
    ) as session:
        async with session.get(url) as response:
            response.raise_for_status()


CLIENTS = [by_httpx, by_requests, by_httpx_async, by_aiohttp]


def call(policy: Policy, client: Callable[[str], Any], url: str) -> None:
    """One guarded call of a sync or async client."""
    result: Any = policy.call(client, url)
    if result is not None:
        asyncio.run(_wait_for(result))


async def _wait_for(result: Any) -> None:
    await result


def loaded() -> None:
    """Import the slow clients, so that no budget of a test pays for it."""
    pytest.importorskip("requests")
    pytest.importorskip("aiohttp")


def with_header(**more: Any) -> Policy:
    """An operation with a budget of 5 s and a header that keeps 0.5 s back."""
    block = settings.Budget(total=5.0, reserve=0.5, header=HEADER)
    return Policy(service="shop", operation="pay", budget=block, **more)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    from policyctl.runtime.registry import registry

    loaded()
    yield
    if "shop.pay" in registry:
        registry.forget("shop.pay")


@pytest.mark.timing
@pytest.mark.parametrize("client", CLIENTS)
def test_each_request_carries_the_header_of_its_operation(
    server: tuple[str, list[dict[str, str]]], client: Callable[[str], Any]
) -> None:
    """The client knows of no operation; a request outside of one carries nothing."""
    url, seen = server
    call(with_header(), client, url)
    result = client(url)
    if result is not None:
        asyncio.run(_wait_for(result))
    assert 3500 < int(seen[0]["x-left"]) <= 4500
    assert "x-left" not in seen[1]


@pytest.mark.parametrize("client", CLIENTS)
def test_each_attempt_carries_what_is_left_then(
    server: tuple[str, list[dict[str, str]]], client: Callable[[str], Any]
) -> None:
    """The second attempt comes 0.2 s later and says so."""
    url, seen = server
    retry = settings.Retry(
        retry_on=(),
        retry_on_status=("503",),
        backoff=settings.Backoff(initial=0.2, jitter="none"),
    )
    call(with_header(retry=retry, transport="http"), client, url + "/flaky")
    first, second = (int(headers["x-left"]) for headers in seen)
    assert second <= first - 200


@pytest.mark.parametrize("client", CLIENTS)
def test_connecting_ends_at_its_limit(
    full_port: int, client: Callable[[str], Any]
) -> None:
    """A server that takes no connections costs connect, not the whole attempt."""
    error, seconds = connecting(client, f"http://127.0.0.1:{full_port}/")
    assert conditions_of(error, "http") == {"not_sent", "timeout"}
    assert 0.15 < seconds < 5.0


@pytest.mark.parametrize("client", CLIENTS)
def test_a_handshake_belongs_to_connecting(
    hanging_port: int, client: Callable[[str], Any]
) -> None:
    """A server that never finishes it is given up too; requests calls that reading."""
    error, seconds = connecting(client, f"https://127.0.0.1:{hanging_port}/")
    expected = {"timeout"} if client is by_requests else {"not_sent", "timeout"}
    assert conditions_of(error, "http") == expected
    assert 0.15 < seconds < 5.0


def connecting(client: Callable[[str], Any], url: str) -> tuple[Exception, float]:
    """What a call with 20 s for the attempt and 0.2 s to connect raises, and when."""
    policy = Policy(attempt_timeout=settings.AttemptTimeout(total=20.0, connect=0.2))
    started = time.monotonic()
    with pytest.raises(Exception) as caught:
        call(policy, client, url)
    assert not isinstance(caught.value, AttemptTimeoutError)
    return caught.value, time.monotonic() - started


@pytest.mark.parametrize("client", CLIENTS)
def test_a_connect_limit_alone_leaves_the_answer_its_time(
    server: tuple[str, list[dict[str, str]]], client: Callable[[str], Any]
) -> None:
    """A request that connects in time is answered."""
    url, seen = server
    limit = settings.AttemptTimeout(total=None, connect=2.0)
    call(Policy(attempt_timeout=limit), client, url)
    assert len(seen) == 1


@pytest.mark.timing
def test_a_connect_timeout_is_retried_as_not_sent(full_port: int) -> None:
    """The callee saw no request, so operations that are not idempotent may go on."""
    entries: list[str] = []

    def fetch(url: str) -> None:
        entries.append(url)
        by_httpx(url)

    policy = Policy(
        transport="http",
        idempotent=False,
        attempt_timeout=settings.AttemptTimeout(total=20.0, connect=0.1),
        retry=settings.Retry(
            max_attempts=2, backoff=settings.Backoff(initial=0.0, jitter="none")
        ),
    )
    with pytest.raises(httpx.ConnectTimeout):
        policy.call(fetch, f"http://127.0.0.1:{full_port}/")
    assert len(entries) == 2


@pytest.mark.timing
def test_of_takes_the_settings_of_one_operation(
    server: tuple[str, list[dict[str, str]]],
) -> None:
    """A transport that is made for an operation serves requests outside of it too."""
    url, seen = server
    policy = with_header(
        attempt_timeout=settings.AttemptTimeout(total=3.0, connect=0.3)
    )
    transport = BudgetTransport.of(policy)
    with budget(2.0), httpx.Client(transport=transport) as client:
        client.get(url)
    assert 1000 < int(seen[0]["x-left"]) <= 1500
    assert transport._outgoing.connect_limit() == 0.3


def kinds() -> list[Policy]:
    """Policies that call a plain function in each of the ways there are."""
    timeout = settings.AttemptTimeout
    header = settings.Budget(total=None, header=HEADER)
    return [
        Policy(budget=header),
        Policy(budget=header, attempt_timeout=timeout(total=5.0)),
        Policy(budget=header, attempt_timeout=timeout(total=5.0, sync="cooperative")),
    ]


@pytest.mark.parametrize("index", range(3))
def test_every_way_to_call_a_plain_function_publishes(index: int) -> None:
    """Here, in a worker thread, and cooperatively; nothing stays behind."""
    with budget(5.0):
        found = kinds()[index].call(outgoing_headers)
    assert list(found) == ["X-Left"]
    assert SENDING.get() is None


def test_a_function_that_returns_an_awaitable_publishes() -> None:
    """The headers are there when the coroutine behind a lambda runs."""

    async def fetch() -> dict[str, str]:
        return outgoing_headers()

    async def main() -> dict[str, str]:
        with budget(5.0):
            found: dict[str, str] = await kinds()[0].call(lambda: fetch())
        return found

    assert list(asyncio.run(main())) == ["X-Left"]


@pytest.mark.timing
def test_a_hedge_publishes_for_each_attempt() -> None:
    """The hedge asks with the same settings as the first attempt."""
    found: list[list[str]] = []

    async def fetch() -> None:
        found.append(list(outgoing_headers()))
        await asyncio.sleep(0.05)

    policy = with_header(
        idempotent=True, hedge=settings.Hedge(delay=0.0, max_hedges=1, budget=1.0)
    )
    asyncio.run(_wait_for(policy.call(fetch)))
    assert found in ([["X-Left"], ["X-Left"]], [["X-Left"]])


def test_a_stream_publishes_at_each_step_only() -> None:
    """The consumer's own requests between two items carry nothing."""

    async def items() -> AsyncIterator[list[str]]:
        yield list(outgoing_headers())
        yield list(outgoing_headers())

    async def main() -> tuple[list[list[str]], list[object]]:
        inside: list[list[str]] = []
        outside: list[object] = []
        async for item in with_header(kind="stream")(items)():
            inside.append(item)
            outside.append(SENDING.get())
        return inside, outside

    assert asyncio.run(main()) == ([["X-Left"], ["X-Left"]], [None, None])


def test_a_plain_stream_publishes_at_each_step_only() -> None:
    """The same for generators."""

    def items() -> Iterator[list[str]]:
        yield list(outgoing_headers())
        yield list(outgoing_headers())

    stream = with_header(kind="stream")(items)()
    found = [(item, SENDING.get()) for item in stream]
    assert found == [(["X-Left"], None), (["X-Left"], None)]


def test_the_innermost_operation_with_a_header_decides() -> None:
    """An inner one with its own replaces it; one without keeps the outer one's."""
    inner = Policy(budget=settings.Budget(total=None, header=OTHER))
    plain = Policy()

    def calls() -> list[list[str]]:
        first = list(inner.call(outgoing_headers))
        return [first, list(plain.call(outgoing_headers)), list(outgoing_headers())]

    assert with_header().call(calls) == [["X-Other"], ["X-Left"], ["X-Left"]]


def test_a_cancelled_call_leaves_nothing_behind() -> None:
    """The task that is cancelled in an attempt has no settings in force afterwards."""

    async def hang() -> None:
        await asyncio.sleep(60)

    async def main() -> object:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await with_header().call(hang)
        task.uncancel()
        return SENDING.get()

    assert asyncio.run(main()) is None


@pytest.mark.timing
def test_a_request_that_would_come_too_late_is_not_sent(
    server: tuple[str, list[dict[str, str]]],
) -> None:
    """The operation's own reserve counts for a transport that has none."""
    url, seen = server
    with budget(0.3), pytest.raises(BudgetExhaustedError) as caught:
        with_header().call(by_httpx, url)
    assert caught.value.minimum == 0.5
    assert seen == []


@pytest.mark.timing
def test_connect_timeout_is_the_smaller_of_limit_and_budget() -> None:
    """For clients without an edge; None where nothing limits connecting."""
    policy = Policy(attempt_timeout=settings.AttemptTimeout(total=None, connect=0.5))
    assert connect_timeout() is None
    assert policy.call(connect_timeout) == 0.5
    with budget(0.2):
        found = policy.call(connect_timeout)
        alone = connect_timeout()
    assert found is not None
    assert alone is not None
    assert 0 < found <= 0.2
    assert 0 < alone <= 0.2


def test_headers_that_are_there_are_left_alone() -> None:
    """In any case of letters."""
    assert with_header().call(outgoing_headers, ["x-LEFT"]) == {}


def test_a_reloaded_header_is_sent_from_the_next_call_on() -> None:
    """Other settings of a live policy reach its client, and so does their end."""
    from policyctl.runtime.reload.change import change_policy

    policy = with_header()
    guarded = policy(outgoing_headers)
    assert list(guarded()) == ["X-Left"]
    for header, sent in ((OTHER, ["X-Other"]), (None, []), (HEADER, ["X-Left"])):
        block = settings.Budget(total=5.0, header=header)
        change_policy(policy, {"budget": block}, set())
        assert list(guarded()) == sent


# -- settings that nobody applies ----------------------------------------------------


def test_a_setting_that_no_client_applies_is_told_once() -> None:
    """Before the second call, with the name of the operation and of its settings."""
    policy = with_header(
        attempt_timeout=settings.AttemptTimeout(total=None, connect=0.5)
    )
    assert policy.call(lambda: 1) == 1
    with pytest.warns(UnusedSettingWarning) as caught:
        policy.call(lambda: 2)
    text = str(caught[0].message)
    assert text.startswith(
        "shop.pay: budget.header and attempt_timeout.connect had no effect"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert policy.call(lambda: 3) == 3


def test_a_setting_that_was_applied_is_not_told() -> None:
    """One request is enough; a call that is answered from a cache may come later."""
    policy = with_header()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.call(outgoing_headers)
        policy.call(lambda: 1)
        policy.call(lambda: 1)


def test_calls_that_failed_say_nothing_of_the_client() -> None:
    """They may not have got as far as a request."""

    def broken() -> None:
        raise ValueError

    policy = with_header()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(ValueError, match=r"^$"):
                policy.call(broken)
